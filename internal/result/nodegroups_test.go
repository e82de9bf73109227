package result

import "testing"

func TestNodeGroup_String(t *testing.T) {
	for want, g := range map[string]NodeGroup{
		"a (big): 1 node needed, of 1 to 3; none was made": {Name: "a", Instance: "big", Min: 1, Max: 3, Nodes: 1},
		"a: 2 nodes needed, of 0 to 3; made for n/p (Deployment d) and 2 more, a pod that is not known, n/q, and it never came": {
			Name: "a", Max: 3, Nodes: 2, Made: []MadeNode{{Node: "x", Pod: "n/p", Workload: "Deployment d", Further: 2}, {Node: "y"}, {Pod: "n/q"}},
		},
	} {
		if got := g.String(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
