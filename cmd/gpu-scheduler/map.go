package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Entry of a scheduling map.
type Entry struct {
	// PodIndex is the index of the pod in its StatefulSet, or in its indexed Job, from 0 on.
	PodIndex int
	// NodeName is where the pod goes.
	NodeName string
	// Devices are the GPUs of that node for the pod, from 0 on, in the order in which
	// CUDA_VISIBLE_DEVICES names them.
	Devices []int
}

// Visible is the pod's CUDA_VISIBLE_DEVICES, as the map has it: "0,1".
func (e Entry) Visible() string {
	var all []string
	for _, d := range e.Devices {
		all = append(all, strconv.Itoa(d))
	}
	return strings.Join(all, ",")
}

// Map is a scheduling map, sorted by pod index.
type Map []Entry

// Find is the entry of a pod index.
func (m Map) Find(index int) (Entry, bool) {
	i := slices.IndexFunc(m, func(e Entry) bool { return e.PodIndex == index })
	if i < 0 {
		return Entry{}, false
	}
	return m[i], true
}

// indexes are those that have an entry, for people.
func (m Map) indexes() string {
	var all []string
	for _, e := range m {
		all = append(all, strconv.Itoa(e.PodIndex))
	}
	return strings.Join(all, ", ")
}

// ReadMap reads a file in the form of the charts' values:
//
//	schedulingMap:
//	- podIndex: 0
//	  nodeName: node1
//	  gpuDevices: "0,1"
//
// All fields are required. An error has each mistake with file and line. Whether nodes and devices
// exist, and whether a device is free, is known only in the cluster.
func ReadMap(file string) (Map, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the scheduling map: %w", err)
	}
	return parseMap(file, data)
}

// entryText is an entry as it is written. The pointer tells 0 from nothing.
type entryText struct {
	PodIndex   *int   `yaml:"podIndex"`
	NodeName   string `yaml:"nodeName"`
	GPUDevices string `yaml:"gpuDevices"`
}

func parseMap(file string, data []byte) (Map, error) {
	var mistakes []error
	say := func(line int, format string, args ...any) {
		mistakes = append(mistakes, fmt.Errorf("%s:%d: %s", file, line, fmt.Sprintf(format, args...)))
	}
	docs, err := yamlx.Documents(data)
	if err != nil {
		p := yamlx.Problems(err)[0]
		say(max(p.Line, 1), "%s", p.Text)
		return nil, errors.Join(mistakes...)
	}
	var top struct {
		SchedulingMap []yaml.Node `yaml:"schedulingMap"`
	}
	if len(docs) == 1 {
		for _, p := range yamlx.DecodeNode(docs[0].Content[0], &top) {
			say(max(p.Line, 1), "%s", p.Text)
		}
	}
	if len(mistakes) == 0 && len(top.SchedulingMap) == 0 {
		say(1, "schedulingMap has no entries; want a list of podIndex, nodeName and gpuDevices")
	}
	var m Map
	for i := range top.SchedulingMap {
		node := &top.SchedulingMap[i]
		var text entryText
		problems := yamlx.DecodeNode(node, &text)
		for _, p := range problems {
			say(max(p.Line, node.Line), "%s", p.Text)
		}
		if len(problems) > 0 {
			continue
		}
		e, err := text.entry()
		if err != nil {
			say(node.Line, "%v", err)
			continue
		}
		if _, twice := m.Find(e.PodIndex); twice {
			say(node.Line, "podIndex %d has two entries", e.PodIndex)
			continue
		}
		m = append(m, e)
	}
	slices.SortFunc(m, func(a, b Entry) int { return cmp.Compare(a.PodIndex, b.PodIndex) })
	return m, errors.Join(mistakes...)
}

func (t entryText) entry() (Entry, error) {
	switch {
	case t.PodIndex == nil:
		return Entry{}, errors.New("an entry has no podIndex")
	case *t.PodIndex < 0:
		return Entry{}, fmt.Errorf("podIndex %d: want 0 or more", *t.PodIndex)
	case t.NodeName == "":
		return Entry{}, fmt.Errorf("the entry of podIndex %d has no nodeName", *t.PodIndex)
	case t.GPUDevices == "":
		return Entry{}, fmt.Errorf("the entry of podIndex %d has no gpuDevices", *t.PodIndex)
	}
	devices, err := parseDevices(t.GPUDevices)
	if err != nil {
		return Entry{}, fmt.Errorf("the entry of podIndex %d: gpuDevices %q: %w", *t.PodIndex, t.GPUDevices, err)
	}
	return Entry{PodIndex: *t.PodIndex, NodeName: t.NodeName, Devices: devices}, nil
}

// parseDevices reads "0,1". It accepts no other format, since the text becomes the value of
// CUDA_VISIBLE_DEVICES, and is compared with it.
func parseDevices(text string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		d, err := strconv.Atoi(part)
		switch {
		case err != nil || d < 0 || strconv.Itoa(d) != part:
			return nil, errors.New(`want the numbers of GPUs with commas between them, such as "0,1"`)
		case slices.Contains(all, d):
			return nil, fmt.Errorf("device %d is named twice", d)
		}
		all = append(all, d)
	}
	return all, nil
}
