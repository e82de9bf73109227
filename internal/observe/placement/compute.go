package placement

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"time"
)

// mostSamples is how many moments of a workflow are kept.
const mostSamples = 120

// Submitted is an object whose pods are examined.
type Submitted struct {
	Name, Namespace, Task string
	// PodName matches the names of its pods; nil if they are not known.
	PodName *regexp.Regexp
	Wanted  int
}

// Compute returns how these objects' pods were placed in a span of time.
func (o *Observer) Compute(from, to time.Time, jobs []Submitted, topology Topology) *Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	owners := o.owners(jobs)
	r := o.compute(from, to, owners, topology)
	r.jobs(o, jobs, owners, topology, to)
	return r
}

// compute does what does not depend on the pods' owners. Pods without one are others.
func (o *Observer) compute(from, to time.Time, owners map[*pod]*Submitted, topology Topology) *Result {
	r := &Result{end: to.Sub(from).Milliseconds()}
	nodes := o.nodeUses(topology)
	r.replay(o, from, to, nodes)
	r.spread(o, owners)
	for _, p := range o.order {
		if p.created.After(to) {
			continue
		}
		if owners[p] == nil {
			r.OtherPods++
			continue
		}
		r.Pods++
		if p.node != "" {
			r.Placed++
			if n := nodes[p.node]; n != nil {
				n.Pods++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if n := nodes[name]; n.GPUs > 0 || n.PeakGPUs > 0 || n.Pods > 0 {
			r.Nodes = append(r.Nodes, *n)
		}
	}
	r.domains()
	return r
}

func (o *Observer) nodeUses(topology Topology) map[string]*NodeUse {
	nodes := map[string]*NodeUse{}
	for name, n := range o.nodes {
		u := &NodeUse{Name: name, Block: first(n.labels, topology.Block), Spine: first(n.labels, topology.Spine)}
		for _, c := range n.changes {
			u.GPUs = max(u.GPUs, c.gpus)
		}
		nodes[name] = u
	}
	return nodes
}

func (r *Result) spread(o *Observer, owners map[*pod]*Submitted) {
	var all []int64
	var begin, end time.Time
	for _, p := range o.order {
		if owners[p] == nil || p.node == "" {
			continue
		}
		all = append(all, p.placed.Sub(p.created).Milliseconds())
		if begin.IsZero() || p.created.Before(begin) {
			begin = p.created
		}
		if p.placed.After(end) {
			end = p.placed
		}
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	r.TimeToSchedule = Spread{Median: all[len(all)/2], P90: all[len(all)*9/10], Max: all[len(all)-1]}
	if took := end.Sub(begin).Seconds(); took > 0 {
		r.TimeToSchedule.PerSecond = round(float64(len(all)) / took)
	}
}

// share returns a percentage, and 0 of nothing.
func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return percent(float64(part), float64(of))
}

func percent(part, of float64) float64 { return round(100 * part / of) }

func round(v float64) float64 { return math.Round(v*100) / 100 }
