package placement

import (
	"time"
)

// owners returns the job of each pod, by namespace and podNameFormat.
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
		for l := range lengths { // a prefix fits one job in practice, so that thousands of jobs are fast
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

// Unfinished returns how many of the objects' pods have not ended, including those still to be
// created.
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

// jobs computes each job's result from its pods.
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
