package placement

import (
	"maps"
	"math"
	"slices"
	"time"
)

// moment is a change at a time.
type moment struct {
	at   time.Time
	what func(*state)
}

// state is the cluster at a moment.
type state struct {
	gpus    map[string]int // by node, as taken and peak
	open    map[string]bool
	taken   map[string]int
	peak    map[string]int
	waiting map[*pod]bool
	pods    int
	// allGPUs, allTaken and allWaiting are sums, in GPUs.
	allGPUs, allTaken, allWaiting int
}

func newState() *state {
	return &state{gpus: map[string]int{}, open: map[string]bool{}, taken: map[string]int{}, peak: map[string]int{}, waiting: map[*pod]bool{}}
}

func (s *state) wait(p *pod) {
	s.waiting[p] = true
	s.allWaiting += p.gpus
}

func (s *state) stopWaiting(p *pod) {
	if s.waiting[p] {
		delete(s.waiting, p)
		s.allWaiting -= p.gpus
	}
}

// hold assigns a pod its GPUs; a sign of -1 takes them back.
func (s *state) hold(p *pod, sign int) {
	s.taken[p.node] += sign * p.gpus
	s.allTaken += sign * p.gpus
	s.pods += sign
	s.peak[p.node] = max(s.peak[p.node], s.taken[p.node])
}

func (s *state) offer(node string, c nodeChange) {
	s.allGPUs += c.gpus - s.gpus[node]
	s.gpus[node], s.open[node] = c.gpus, c.open
}

// replay goes through the changes, and computes occupancy, fragmentation and the picture.
func (r *Result) replay(o *Observer, from, to time.Time, nodes map[string]*NodeUse) {
	moments := o.moments()
	s := newState()
	var held, offered float64 // GPU seconds while a pod held a GPU or waited for one
	next, last := 0, from
	spend := func(until time.Time) {
		span := until.Sub(last).Seconds()
		if span <= 0 {
			return
		}
		if s.allTaken > 0 || s.allWaiting > 0 {
			held, offered = held+span*float64(s.allTaken), offered+span*float64(s.allGPUs)
		}
		last = until
	}
	advance := func(until time.Time) {
		for next < len(moments) && !moments[next].at.After(until) {
			at := moments[next].at
			spend(at)
			moments[next].what(s)
			next++
			if !at.Before(from) {
				r.PeakOccupancy = max(r.PeakOccupancy, share(s.allTaken, s.allGPUs))
			}
		}
	}
	advance(from)
	r.PeakOccupancy = max(r.PeakOccupancy, share(s.allTaken, s.allGPUs))
	names := slices.Sorted(maps.Keys(nodes))
	step := max(to.Sub(from)/mostSamples, time.Millisecond)
	sum := map[string]float64{}
	for at := from; !at.After(to); at = at.Add(step) {
		advance(at)
		sample := s.sample(at.Sub(from).Milliseconds())
		r.Occupancy = append(r.Occupancy, sample)
		r.Fragmentation = max(r.Fragmentation, sample.Useless)
		column := make([]float64, len(names))
		for i, name := range names {
			column[i] = -1 // there is no such node, or it takes no pods
			if g := s.gpus[name]; g > 0 && (s.open[name] || s.taken[name] > 0) {
				column[i] = percent(float64(s.taken[name]), float64(g))
				sum[name] += column[i]
			}
		}
		r.picture = append(r.picture, column)
	}
	advance(to)
	spend(to)
	if offered > 0 {
		r.MeanOccupancy = percent(held, offered)
	}
	for _, name := range names {
		nodes[name].PeakGPUs = s.peak[name]
		nodes[name].Occupancy = round(sum[name] / float64(max(1, len(r.Occupancy))))
	}
	r.rows = names
}

func (o *Observer) moments() []moment {
	var all []moment
	for _, n := range o.nodes {
		for _, c := range n.changes {
			all = append(all, moment{c.at, func(s *state) { s.offer(n.name, c) }})
		}
	}
	for _, p := range o.order {
		all = append(all, moment{p.created, func(s *state) { s.wait(p) }})
		if p.node != "" {
			all = append(all, moment{p.placed, func(s *state) { s.stopWaiting(p); s.hold(p, 1) }})
		}
		if !p.ended.IsZero() {
			all = append(all, moment{p.ended, func(s *state) {
				s.stopWaiting(p)
				if p.node != "" {
					s.hold(p, -1)
				}
			}})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return a.at.Compare(b.at) })
	return all
}

func (s *state) sample(ms int64) Sample {
	sample := Sample{At: ms, GPUs: s.allGPUs, Taken: s.allTaken, Waiting: s.allWaiting, Pods: s.pods, Pending: len(s.waiting)}
	smallest := math.MaxInt
	for p := range s.waiting {
		if p.gpus > 0 {
			smallest = min(smallest, p.gpus)
		}
	}
	if smallest == math.MaxInt {
		return sample
	}
	for name, gpus := range s.gpus {
		if free := gpus - s.taken[name]; s.open[name] && free > 0 && free < smallest {
			sample.Useless += free
		}
	}
	return sample
}
