package placement

import (
	"slices"
	"strings"
)

// Topology is the labels of nodes that name their block and spine. The first one that a node has
// counts.
type Topology struct{ Block, Spine []string }

// DefaultTopology has NVIDIA Topograph's labels, today's and the earlier ones.
func DefaultTopology() Topology {
	return Topology{
		Block: []string{"network.topology.nvidia.com/block", "network.topology.kubernetes.io/block"},
		Spine: []string{"network.topology.nvidia.com/spine", "network.topology.kubernetes.io/spine"},
	}
}

func first(labels map[string]string, keys []string) string {
	for _, k := range keys {
		if v := labels[k]; v != "" {
			return v
		}
	}
	return ""
}

func (r *Result) domains() {
	all := map[DomainUse]*DomainUse{}
	for _, n := range r.Nodes {
		for _, key := range []DomainUse{{Kind: "block", Name: n.Block}, {Kind: "spine", Name: n.Spine}} {
			if key.Name == "" {
				continue
			}
			if all[key] == nil {
				d := key
				all[key] = &d
			}
			all[key].Nodes++
			all[key].Pods += n.Pods
		}
	}
	for _, d := range all {
		r.Domains = append(r.Domains, *d)
	}
	slices.SortFunc(r.Domains, func(a, b DomainUse) int { return strings.Compare(a.Kind+" "+a.Name, b.Kind+" "+b.Name) })
}

// distance returns the mean over pairs of pods: 3, less one for each of node, block and spine that
// a pair has in common.
func distance(pods int, groups ...map[string]int) float64 {
	pairs := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	all := pairs(pods)
	sum := float64(len(groups)) * all
	for _, g := range groups {
		for _, n := range g {
			sum -= pairs(n)
		}
	}
	return round(sum / all)
}
