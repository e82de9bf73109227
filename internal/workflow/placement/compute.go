package placement

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mostSamples is how many moments of a workflow are kept.
const mostSamples = 120

// Topology is the labels of nodes that say which block and spine they are in; the first that a node has counts.
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

// Submitted is an object whose pods are looked at.
type Submitted struct {
	Name, Namespace, Task string
	// PodName matches the names of its pods; nil: they are not known.
	PodName *regexp.Regexp
	Wanted  int
}

// moment is something that changed at a time.
type moment struct {
	at   time.Time
	what func(*state)
}

// state is the cluster as it was at a moment.
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

// hold gives a pod its GPUs, or takes them back with a sign of -1.
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

// Compute says how these objects' pods were placed in a span of time.
func (o *Observer) Compute(from, to time.Time, jobs []Submitted, topology Topology) *Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := &Result{end: to.Sub(from).Milliseconds()}
	owners := o.owners(jobs)
	r.jobs(o, jobs, owners, topology, to)
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

// owners says which pod is whose, by namespace and podNameFormat.
func (o *Observer) owners(jobs []Submitted) map[*pod]*Submitted {
	byPrefix := map[string][]*Submitted{}
	for i := range jobs {
		if jobs[i].PodName != nil {
			prefix, _ := jobs[i].PodName.LiteralPrefix()
			key := jobs[i].Namespace + "/" + prefix
			byPrefix[key] = append(byPrefix[key], &jobs[i])
		}
	}
	lengths := map[int]bool{}
	for key := range byPrefix {
		lengths[len(key)] = true
	}
	owners := map[*pod]*Submitted{}
	for _, p := range o.order {
		full := p.namespace + "/" + p.name
		for l := range lengths { // a prefix names one job in practice, so that thousands of jobs are no matter
			if l > len(full) {
				continue
			}
			for _, j := range byPrefix[full[:l]] {
				if j.PodName.MatchString(p.name) {
					owners[p] = j
				}
			}
		}
	}
	return owners
}

// Unfinished is how many of the objects' pods have not ended, those included that are still to be created.
func (o *Observer) Unfinished(jobs []Submitted) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := 0
	for _, j := range jobs {
		left += j.Wanted
	}
	ended, open := 0, 0
	for p := range o.owners(jobs) {
		if p.ended.IsZero() {
			open++
		} else {
			ended++
		}
	}
	return max(left-ended, open)
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

// replay goes through what happened, and keeps occupancy, fragmentation and the picture.
func (r *Result) replay(o *Observer, from, to time.Time, nodes map[string]*NodeUse) {
	moments := o.moments()
	s := &state{gpus: map[string]int{}, open: map[string]bool{}, taken: map[string]int{}, peak: map[string]int{}, waiting: map[*pod]bool{}}
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

// jobs looks at each job's pods.
func (r *Result) jobs(o *Observer, jobs []Submitted, owners map[*pod]*Submitted, topology Topology, to time.Time) {
	podsOf := map[*Submitted][]*pod{}
	for _, p := range o.order {
		if j := owners[p]; j != nil {
			podsOf[j] = append(podsOf[j], p)
		}
	}
	for i := range jobs {
		if jobs[i].PodName == nil {
			continue
		}
		j := o.job(&jobs[i], podsOf[&jobs[i]], topology, to)
		r.Jobs = append(r.Jobs, j)
		if j.Wanted < 2 {
			continue
		}
		r.Gangs.Jobs++
		switch {
		case j.Placed >= j.Wanted:
			r.Gangs.Whole++
		case j.Placed > 0:
			r.Gangs.Half++
		default:
			r.Gangs.None++
		}
		r.Gangs.LongestHalf = max(r.Gangs.LongestHalf, j.HalfPlaced)
	}
	if r.Jobs == nil {
		r.Jobs = []Job{}
	}
}

func (o *Observer) job(s *Submitted, pods []*pod, topology Topology, to time.Time) Job {
	j := Job{Name: s.Name, Namespace: s.Namespace, Task: s.Task, Wanted: s.Wanted, Pods: len(pods), Scheduled: -1, Distance: -1}
	var created, firstPlaced, lastPlaced time.Time
	perNode, blocks, spines := map[string]int{}, map[string]int{}, map[string]int{}
	for _, p := range pods {
		j.GPUs += p.gpus
		if created.IsZero() || p.created.Before(created) {
			created = p.created
		}
		if p.node == "" {
			j.Waiting = p.message
			continue
		}
		j.Placed++
		if firstPlaced.IsZero() || p.placed.Before(firstPlaced) {
			firstPlaced = p.placed
		}
		if p.placed.After(lastPlaced) {
			lastPlaced = p.placed
		}
		perNode[p.node]++
		if n := o.nodes[p.node]; n != nil {
			if b := first(n.labels, topology.Block); b != "" {
				blocks[b]++
			}
			if sp := first(n.labels, topology.Spine); sp != "" {
				spines[sp]++
			}
		}
	}
	wanted := max(s.Wanted, len(pods))
	if wanted > 0 && j.Placed >= wanted {
		j.Scheduled = lastPlaced.Sub(created).Milliseconds()
		j.HalfPlaced = lastPlaced.Sub(firstPlaced).Milliseconds()
	} else if j.Placed > 0 {
		j.HalfPlaced = to.Sub(firstPlaced).Milliseconds()
	}
	j.Blocks, j.Spines = len(blocks), len(spines)
	if j.Placed > 1 && len(blocks) > 0 {
		j.Distance = distance(j.Placed, perNode, blocks, spines)
	}
	return j
}

// distance is the mean over pairs of pods: 3, less one for each of node, block and spine that a pair has in common.
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

// share is percent, and 0 of nothing.
func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return percent(float64(part), float64(of))
}

func percent(part, of float64) float64 { return round(100 * part / of) }

func round(v float64) float64 { return math.Round(v*100) / 100 }
