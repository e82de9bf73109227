package placement

import (
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// A cell's part of a results file must be small, since a file has hundreds of them.
const (
	cellMoments = 40
	cellRows    = 12
)

// ComputeAll returns how all pods were placed that were created in a span of time, whatever created
// them.
func (o *Observer) ComputeAll(from, to time.Time, topology Topology) *result.Scheduling {
	o.mu.Lock()
	defer o.mu.Unlock()
	all, owners := &Submitted{}, map[*pod]*Submitted{}
	for _, p := range o.order {
		if !p.before && !p.created.Before(from) {
			owners[p] = all
		}
	}
	r := o.compute(from, to, owners, topology)
	s := &result.Scheduling{
		Pods: r.Pods, Placed: r.Placed, Median: r.TimeToSchedule.Median, P90: r.TimeToSchedule.P90, Max: r.TimeToSchedule.Max,
		MeanOccupancy: r.MeanOccupancy, PeakOccupancy: r.PeakOccupancy, Fragmented: r.Fragmentation,
	}
	for _, d := range r.Domains {
		s.Domains = append(s.Domains, result.PlacedDomain(d))
	}
	s.Moments, s.Rows = r.moments(), r.cellRows()
	return s
}

// stride is how many samples become one moment.
func (r *Result) stride() int { return max(1, (len(r.Occupancy)+cellMoments-1)/cellMoments) }

// moments returns the samples, thinned.
func (r *Result) moments() result.GPUMoments {
	m := result.GPUMoments{GPUs: []int{}, Taken: []int{}, Waiting: []int{}, Useless: []int{}}
	if len(r.Occupancy) > 1 {
		m.Every = r.Occupancy[1].At * int64(r.stride())
	}
	for part := range slices.Chunk(r.Occupancy, r.stride()) {
		// The maximum of a stretch: what lasts shorter than a moment is visible too.
		var at Sample
		for _, s := range part {
			at.GPUs, at.Taken, at.Waiting, at.Useless = max(at.GPUs, s.GPUs), max(at.Taken, s.Taken), max(at.Waiting, s.Waiting), max(at.Useless, s.Useless)
		}
		m.GPUs, m.Taken, m.Waiting, m.Useless = append(m.GPUs, at.GPUs), append(m.Taken, at.Taken), append(m.Waiting, at.Waiting), append(m.Useless, at.Useless)
	}
	return m
}

// cellRows returns the nodes that got a pod or have GPUs, over time.
func (r *Result) cellRows() []result.NodeRow {
	column := map[string]int{}
	for i, name := range r.rows {
		column[name] = i
	}
	var rows []result.NodeRow
	for group := range slices.Chunk(r.Nodes, max(1, (len(r.Nodes)+cellRows-1)/cellRows)) {
		row := result.NodeRow{Name: groupName(group[0].Name, len(group)), Nodes: len(group)}
		var columns []int
		for _, n := range group {
			row.Pods += n.Pods
			columns = append(columns, column[n.Name])
		}
		for part := range slices.Chunk(r.picture, r.stride()) {
			shade := -1
			for _, moment := range part {
				if mean, ok := meanOf(moment, columns); ok {
					shade = max(shade, shadeOf(mean))
				}
			}
			row.Taken += string("-0123456789a"[shade+1])
		}
		rows = append(rows, row)
	}
	return rows
}
