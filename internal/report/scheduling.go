package report

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// schedulingView is how the pods of a cell got their nodes: lines for people, and a picture of the
// nodes over time.
type schedulingView struct {
	Lines   []string
	Columns int
	Took    string
	Rows    []schedulingRow
}

type schedulingRow struct {
	Name, Pods string
	Parts      []schedulingPart
}

// schedulingPart is a stretch in which a row's GPUs were taken to the same extent. Shade is 0 for
// none to 10 for all, and -1 where there is nothing to take.
type schedulingPart struct {
	X, Width, Shade int
	Title           string
}

// Schedule is nil for a cell that deployed nothing.
func (c *cellView) Schedule() *schedulingView {
	s := c.Scheduling
	if s == nil {
		return nil
	}
	v := &schedulingView{Columns: len(s.Moments.GPUs), Lines: schedulingLines(s), Took: momentText(s, len(s.Moments.GPUs))}
	for i := range s.Rows {
		v.Rows = append(v.Rows, rowOf(s, &s.Rows[i]))
	}
	return v
}

func schedulingLines(s *result.Scheduling) []string {
	lines := []string{fmt.Sprintf("%d of %s placed; median %d ms from creation to node, at most %d ms.", s.Placed, lists.Count(s.Pods, "pod"), s.Median, s.Max)}
	if gpus := mostOf(s.Moments.GPUs); gpus > 0 {
		lines = append(lines, fmt.Sprintf("Of %s, at most %d were taken (%.0f%%), and %d were free but fitted no waiting pod.", lists.Count(gpus, "GPU"), mostOf(s.Moments.Taken), s.PeakOccupancy, s.Fragmented))
	}
	for _, d := range s.Domains {
		lines = append(lines, fmt.Sprintf("%s %s: %s on %s.", d.Kind, d.Name, lists.Count(d.Pods, "pod"), lists.Count(d.Nodes, "node")))
	}
	return lines
}

func mostOf(numbers []int) int {
	most := 0
	for _, n := range numbers {
		most = max(most, n)
	}
	return most
}

// momentText is the time of a moment.
func momentText(s *result.Scheduling, i int) string {
	return fmt.Sprintf("%.1f s", float64(s.Moments.Every)*float64(i)/1000)
}

func rowOf(s *result.Scheduling, r *result.NodeRow) schedulingRow {
	row := schedulingRow{Name: r.Name, Pods: lists.Count(r.Pods, "pod")}
	for x, letter := range r.Taken {
		shade := strings.IndexRune("0123456789a", letter)
		if last := len(row.Parts) - 1; last >= 0 && row.Parts[last].Shade == shade {
			row.Parts[last].Width++
			continue
		}
		text := "no GPUs, or takes no pods"
		if shade >= 0 {
			text = fmt.Sprintf("%d%% of the GPUs taken", shade*10)
		}
		row.Parts = append(row.Parts, schedulingPart{X: x, Width: 1, Shade: shade, Title: fmt.Sprintf("%s, from %s: %s", r.Name, momentText(s, x), text)})
	}
	return row
}
