// Package snapshot is the format of AICR's snapshots: what was measured of a system, by type,
// subtype and key. It reads them, finds values, and infers which kind of cluster it is. It must not
// know how anything is measured, or recipes.
package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// APIVersion is the version of the snapshots that this program takes; Kind is the kind of their
// documents.
const (
	APIVersion = document.Group + "v1"
	Kind       = "Snapshot"
)

// The types of measurements.
const (
	TypeK8s          = "K8s"
	TypeOS           = "OS"
	TypeSystemD      = "SystemD"
	TypeGPU          = "GPU"
	TypeNodeTopology = "NodeTopology"
)

// Snapshot is what was measured of a system at one time.
type Snapshot struct {
	APIVersion string `json:"apiVersion" yaml:"apiVersion"`
	Kind       string `json:"kind" yaml:"kind"`
	// Metadata says when, where and by what; nothing depends on it.
	Metadata     map[string]any `json:"metadata,omitempty" yaml:"metadata"`
	Measurements []Measurement  `json:"measurements" yaml:"measurements"`

	// Note says, of one that was read, by which rules that was, if its apiVersion is a newer one.
	Note string `json:"-" yaml:"-"`
}

// Measurement is everything of one type.
type Measurement struct {
	Type     string    `json:"type" yaml:"type"`
	Subtypes []Subtype `json:"subtypes" yaml:"subtypes"`
}

// Subtype is a named collection of readings, e.g. the release of OS.
type Subtype struct {
	Name string             `json:"subtype" yaml:"subtype"`
	Data map[string]Reading `json:"data" yaml:"data"`
	// Context describes keys, for people.
	Context map[string]string `json:"context,omitempty" yaml:"context"`
	// Items are readings of several things of a kind, in their order.
	Items []Item `json:"items,omitempty" yaml:"items"`
}

// Item is one of several things of a kind, e.g. a network adapter.
type Item struct {
	Context map[string]string  `json:"context,omitempty" yaml:"context"`
	Data    map[string]Reading `json:"data,omitempty" yaml:"data"`
}

// Reading is one value: a string, an int64, a float64, a bool, or nil.
type Reading struct {
	Value any
	text  string // as it was written; empty for a reading that was made, not read
}

// String is the value as it was written: a version 1.30 is 1.30, and not 1.3.
func (r Reading) String() string {
	switch {
	case r.text != "":
		return r.text
	case r.Value == nil:
		return ""
	}
	return fmt.Sprint(r.Value)
}

// MarshalJSON writes the value alone.
func (r Reading) MarshalJSON() ([]byte, error) { return json.Marshal(r.Value) }

// UnmarshalYAML reads a scalar.
func (r *Reading) UnmarshalYAML(n *yaml.Node) error {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: a reading must be a text, a number or a boolean", n.Line)}}
	}
	r.Value, r.text = n.Value, n.Value
	switch n.ShortTag() {
	case "!!null":
		r.Value, r.text = nil, ""
	case "!!bool":
		r.Value = strings.EqualFold(n.Value, "true")
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			r.Value = i
		}
	case "!!float":
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			r.Value = f
		}
	}
	return nil
}

// Read reads a snapshot, as YAML or JSON. File is its name in messages, which start with it, and
// with the line if that is known. A field that the format does not have is an error, and so is a
// type or subtype that occurs twice.
func Read(file string, data []byte) (*Snapshot, error) {
	fail := func(line int, format string, args ...any) error {
		at := file
		if line > 0 {
			at += ":" + strconv.Itoa(line)
		}
		return fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...))
	}
	docs, err := yamlx.Documents(data)
	if err == nil && len(docs) > 0 && docs[0].Content[0].Kind != yaml.MappingNode {
		return nil, fail(docs[0].Line, "it is not a %s document, which is a mapping", Kind)
	}
	if err == nil && len(docs) > 1 {
		return nil, fail(docs[1].Line, "a second document starts here; keep one snapshot in the file")
	}
	s := &Snapshot{}
	if err == nil && len(docs) == 1 {
		if got, line := field(docs[0].Content[0], "kind"); got != Kind {
			return nil, fail(line, "kind is %.100q, and must be %q", got, Kind)
		}
		got, line := field(docs[0].Content[0], "apiVersion")
		note, ok := document.ReadableVersion(Kind, got)
		if !ok {
			return nil, fail(line, "apiVersion is %.100q, and must be one of %s; take the snapshot again with a program of this version", got, strings.Join(document.ApiVersions(Kind), ", "))
		}
		if note != "" {
			s.Note = fail(line, "%s", note).Error()
		}
	}
	if err == nil {
		err = yamlx.DecodeStrict(data, s)
	}
	if errors.Is(err, io.EOF) {
		return nil, fail(0, "the file is empty; give the snapshot of a system")
	}
	if err != nil {
		p := yamlx.Problems(err)[0]
		return nil, fail(p.Line, "it is no snapshot: %s", p.Text)
	}
	seen := map[string]bool{}
	for i, m := range s.Measurements {
		if m.Type == "" {
			return nil, fail(0, "measurements[%d] has no type", i)
		}
		for j, sub := range m.Subtypes {
			key := strings.ToLower(m.Type) + "." + sub.Name
			switch {
			case sub.Name == "":
				return nil, fail(0, "measurements[%d].subtypes[%d] (%s) has no subtype", i, j, m.Type)
			case seen[key]:
				return nil, fail(0, "it has the subtype %s.%s twice", m.Type, sub.Name)
			}
			seen[key] = true
		}
	}
	return s, nil
}

func field(root *yaml.Node, key string) (value string, line int) {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == key {
			return root.Content[i+1].Value, root.Content[i].Line
		}
	}
	return "", root.Line
}

// ContextOf is the context of the subtype that the reading at a path belongs to; nil if there is
// none.
func (s *Snapshot) ContextOf(path string) map[string]string {
	for sub := range s.below(path) {
		return sub.Context
	}
	return nil
}

// Value gives the reading at TYPE.SUBTYPE.KEY, e.g. OS.release.VERSION_ID, or that of one of several
// things, TYPE.SUBTYPE[N].KEY or TYPE.SUBTYPE[NAME=TEXT].KEY. A subtype and a key may have dots in
// them; the case of a type does not matter.
func (s *Snapshot) Value(path string) (string, bool) {
	for sub, key := range s.below(path) {
		if r, ok := sub.Data[key]; ok && r.Value != nil {
			return r.String(), true
		}
	}
	kind, rest, _ := strings.Cut(path, ".")
	name, rest, bracket := strings.Cut(rest, "[")
	which, key, ok := strings.Cut(rest, "].")
	if !bracket || !ok {
		return "", false
	}
	for sub := range s.below(kind + "." + name + ".") {
		if item, ok := sub.item(which); ok {
			return item.text(key)
		}
	}
	return "", false
}

// below gives the subtypes that a path can be in, and what of it is the key there.
func (s *Snapshot) below(path string) iter.Seq2[*Subtype, string] {
	return func(yield func(*Subtype, string) bool) {
		kind, rest, _ := strings.Cut(path, ".")
		for i, m := range s.Measurements {
			for j, sub := range m.Subtypes {
				if key, ok := strings.CutPrefix(rest, sub.Name+"."); ok && strings.EqualFold(m.Type, kind) && !yield(&s.Measurements[i].Subtypes[j], key) {
					return
				}
			}
		}
	}
}

// item is the one with that number, or the only one that has that text.
func (s *Subtype) item(which string) (found Item, ok bool) {
	name, text, named := strings.Cut(which, "=")
	if !named {
		i, err := strconv.Atoi(which)
		if err != nil || i < 0 || i >= len(s.Items) {
			return Item{}, false
		}
		return s.Items[i], true
	}
	for _, item := range s.Items {
		if have, has := item.text(name); has && have == text {
			if ok {
				return Item{}, false // two of them say nothing
			}
			found, ok = item, true
		}
	}
	return found, ok
}

// text is a reading of the item, or else what describes it.
func (i Item) text(key string) (string, bool) {
	if r, ok := i.Data[key]; ok && r.Value != nil {
		return r.String(), true
	}
	text, ok := i.Context[key]
	return text, ok
}
