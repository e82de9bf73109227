package observe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
)

const (
	// groupFrom is the number of nodes from which similar nodes are one entry: a thousand entries
	// are unreadable, and megabytes.
	groupFrom = 50
	// namedPods of a workload are named if they have no node; the others are counted.
	namedPods = 20
)

// group joins the similar nodes of a large cluster, and shortens the lists of pods without a node.
func group(p *result.Placement) {
	var all []result.PlacedNode
	at := map[string]int{}
	names, zones := map[string][]string{}, map[string][]string{}
	for _, n := range p.Nodes {
		kind := likeness(&n)
		if _, ok := at[kind]; !ok {
			at[kind] = len(all)
			all = append(all, n)
		}
		names[kind], zones[kind] = append(names[kind], n.Name), append(zones[kind], n.Zone)
	}
	for kind, i := range at {
		if len(names[kind]) > 1 {
			slices.Sort(zones[kind])
			all[i].Alike, all[i].Names, all[i].Zone = len(names[kind]), ranges(names[kind]), strings.Join(slices.Compact(zones[kind]), ", ")
		}
	}
	p.Nodes = all
	for i := range p.Unplaced {
		if g := &p.Unplaced[i]; len(g.Pods) > namedPods {
			g.Pods, g.More = g.Pods[:namedPods:namedPods], len(g.Pods)-namedPods
		}
	}
}

// likeness returns a key that is the same for nodes that differ only in their names and zones, and
// in the names of their pods.
func likeness(n *result.PlacedNode) string {
	text := fmt.Sprintf("%q %q %q %d %d %d %d", n.Kind, n.Instance, n.GPUProduct, n.GPUs, n.GPUsTaken, n.CPU, n.Memory)
	for _, g := range n.Pods {
		text += fmt.Sprintf(" %q %q %q %d %d %t %q", g.Namespace, g.Workload, g.Component, len(g.Pods), g.GPUs, g.Done, g.Misplaced)
	}
	return text
}

// ranges shortens consecutive names: a-0, a-1, a-2 and a-7 become "a-0 to a-2" and "a-7".
func ranges(names []string) []string {
	type numbered struct {
		stem string
		n    int
	}
	split := func(name string) numbered {
		stem := strings.TrimRight(name, "0123456789")
		n, err := strconv.Atoi(name[len(stem):])
		if err != nil || stem+strconv.Itoa(n) != name { // no number, or one with leading zeros
			return numbered{name, -1}
		}
		return numbered{stem, n}
	}
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, func(a, b string) int {
		x, y := split(a), split(b)
		if x.stem != y.stem {
			return strings.Compare(x.stem, y.stem)
		}
		return x.n - y.n
	})
	var all []string
	for i := 0; i < len(sorted); {
		first, j := split(sorted[i]), i
		for first.n >= 0 && j+1 < len(sorted) && split(sorted[j+1]) == (numbered{first.stem, first.n + j + 1 - i}) {
			j++
		}
		if text := sorted[i]; j > i {
			all = append(all, text+" to "+sorted[j])
		} else {
			all = append(all, text)
		}
		i = j + 1
	}
	return all
}
