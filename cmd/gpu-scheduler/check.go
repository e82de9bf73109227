package main

import (
	"errors"
	"fmt"
	"strconv"
)

// Pod is what a pod knows of itself, from its environment.
type Pod struct {
	// Name and Node are POD_NAME and NODE_NAME; Index is POD_INDEX, as text.
	Name, Node, Index string
	// Visible is CUDA_VISIBLE_DEVICES.
	Visible string
}

// PodOf reads a pod's environment.
func PodOf(getenv func(string) string) Pod {
	return Pod{Name: getenv("POD_NAME"), Node: getenv("NODE_NAME"), Index: getenv("POD_INDEX"), Visible: getenv(visibleDevices)}
}

// Check says where the pod is and what it sees, if that is what the map says. Otherwise the error
// has everything that differs.
func Check(p Pod, m Map) (string, error) {
	index, err := strconv.Atoi(p.Index)
	if err != nil {
		return "", fmt.Errorf("pod %s: POD_INDEX is %q, and should be the number of the pod in its StatefulSet: %w", p.Name, p.Index, err)
	}
	e, ok := m.Find(index)
	if !ok {
		return "", fmt.Errorf("pod %s: podIndex %d has no entry in the scheduling map, which has %s", p.Name, index, m.indexes())
	}
	var wrong []error
	if p.Node != e.NodeName {
		wrong = append(wrong, fmt.Errorf("pod %s runs on node %s, and the scheduling map has podIndex %d on %s", p.Name, p.Node, index, e.NodeName))
	}
	switch {
	case p.Visible == "":
		wrong = append(wrong, fmt.Errorf("pod %s: %s is not set, and the scheduling map gives podIndex %d %s", p.Name, visibleDevices, index, e.Visible()))
	case p.Visible != e.Visible():
		wrong = append(wrong, fmt.Errorf("pod %s: %s is %s, and the scheduling map gives podIndex %d %s", p.Name, visibleDevices, p.Visible, index, e.Visible()))
	}
	if len(wrong) > 0 {
		return "", errors.Join(wrong...)
	}
	return fmt.Sprintf("pod %s (podIndex %d) runs on node %s with %s=%s, as the scheduling map says", p.Name, index, e.NodeName, visibleDevices, e.Visible()), nil
}
