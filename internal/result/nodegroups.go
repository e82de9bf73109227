package result

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// NodeGroup is a group of a node profile, whose nodes are made when pods fit on no other.
type NodeGroup struct {
	// Name is NODETYPE-GROUP.
	Name     string `json:"name"`
	Instance string `json:"instance,omitempty"`
	// Min and Max are how many nodes it has from the start and at most. Nodes is how many it had at the end
	// of the cell: what the recipe needs of it.
	Min   int `json:"min"`
	Max   int `json:"max"`
	Nodes int `json:"nodes"`
	// Made are those that were made, in their order.
	Made []MadeNode `json:"made,omitempty"`
}

// MadeNode is a node that was made for pods.
type MadeNode struct {
	// Node is empty if it did not come to exist.
	Node string `json:"node,omitempty"`
	// Pod is namespace/name of the pod that fitted on no other node; empty if Karpenter has not said it. Workload
	// is the kind and name at the top of its owners, and Component the recipe's, if they are known.
	Pod       string `json:"pod,omitempty"`
	Workload  string `json:"workload,omitempty"`
	Component string `json:"component,omitempty"`
	// Further is how many other pods were put on the node when it was asked for.
	Further int `json:"further,omitempty"`
}

// mostMade is how many nodes of a group are named in a line.
const mostMade = 6

// String says how many nodes of the group were needed, and which pod made each.
func (g *NodeGroup) String() string {
	name := g.Name
	if g.Instance != "" {
		name += " (" + g.Instance + ")"
	}
	text := fmt.Sprintf("%s: %s needed, of %d to %d", name, lists.Count(g.Nodes, "node"), g.Min, g.Max)
	if len(g.Made) == 0 {
		return text + "; none was made"
	}
	var made []string
	for i := range g.Made {
		made = append(made, g.Made[i].text())
	}
	return text + "; made for " + strings.Join(lists.AtMost(made, mostMade), ", ")
}

func (m *MadeNode) text() string {
	text := m.Pod
	if text == "" {
		text = "a pod that is not known"
	}
	if m.Workload != "" {
		text += " (" + m.Workload + ")"
	}
	if m.Further > 0 {
		text += fmt.Sprintf(" and %d more", m.Further)
	}
	if m.Node == "" {
		text += ", and it never came"
	}
	return text
}

// nodeGroupLines are the groups, a line each.
func (r *Result) nodeGroupLines() []string {
	var lines []string
	for i := range r.NodeGroups {
		lines = append(lines, r.NodeGroups[i].String())
	}
	return lines
}
