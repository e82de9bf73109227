package placement

import (
	"maps"
	"slices"
	"time"
)

// Now is a cluster at one moment, for programs that follow a run.
type Now struct {
	// Sample is the cluster's; its At is 0.
	Sample
	// Nodes are those that exist and have GPUs or pods, by name.
	Nodes []NodeNow
	// Domains are the pods that hold a node, by topology domain.
	Domains []DomainUse
	// Waits are how long each pod waited for its node, for the pods that were created since the
	// watch started and that got one.
	Waits []time.Duration
	// Gangs are the jobs of several pods, and Distances those of the jobs that were placed
	// completely (Job has the scale).
	Gangs     Gang
	Distances []float64
}

// NodeNow is one node. Pods are those that hold it; pods that have ended there and still exist do
// not count.
type NodeNow struct {
	Name string
	// GPUs are the node's, Taken those that pods hold.
	GPUs, Taken, Pods int
}

// Now returns the cluster's current state. It may be called at any time, and from several
// goroutines.
func (o *Observer) Now(jobs []Submitted, topology Topology) *Now {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := newState()
	for _, m := range o.moments() {
		m.what(s)
	}
	n := &Now{Sample: s.sample(0)}
	holding := map[string]int{}
	for _, p := range o.order {
		if p.node == "" {
			continue
		}
		if p.ended.IsZero() {
			holding[p.node]++
		}
		if !p.before {
			n.Waits = append(n.Waits, p.placed.Sub(p.created))
		}
	}
	r := &Result{}
	uses := o.nodeUses(topology)
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		if o.nodes[name].gone {
			continue
		}
		if one := (NodeNow{Name: name, GPUs: s.gpus[name], Taken: s.taken[name], Pods: holding[name]}); one.GPUs > 0 || one.Taken > 0 || one.Pods > 0 {
			n.Nodes = append(n.Nodes, one)
		}
		uses[name].Pods = holding[name]
		r.Nodes = append(r.Nodes, *uses[name])
	}
	r.domains()
	r.jobs(o, jobs, o.owners(jobs), topology, o.now())
	n.Domains, n.Gangs = r.Domains, r.Gangs
	for _, j := range r.Jobs {
		if j.Placed >= j.Wanted && j.Distance >= 0 {
			n.Distances = append(n.Distances, j.Distance)
		}
	}
	return n
}
