package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

// timelineRow is a line of a cell's timeline: its steps, or a component. X and Width of its parts are thousandths of
// the cell's time.
type timelineRow struct {
	Name, Times, Label string
	Parts              []timelinePart
}

type timelinePart struct {
	X, Width int
	Class    string
	Title    string // none where the row has no other part
}

// Timeline is a cell's steps and, below them on the same scale, when each component's workloads became ready: what
// waited for what. Empty for a cell without steps.
func (c *cellView) Timeline() []timelineRow {
	whole := max(c.Duration, 1)
	part := func(from, until time.Duration, class, title string) timelinePart {
		x := min(1000*from/whole, 999)
		return timelinePart{X: int(x), Width: int(max(min(1000*until/whole, 1000)-x, 2)), Class: class, Title: title}
	}
	if len(c.Steps) == 0 {
		return nil
	}
	steps := timelineRow{Name: "steps", Times: seconds(c.Duration), Label: "the steps, one after the other; the list below has their times"}
	at := time.Duration(0)
	for _, s := range c.Steps {
		steps.Parts = append(steps.Parts, part(at, at+s.Took, fmt.Sprintf("p%d", s.N), s.Name+": "+seconds(s.Took)))
		at += s.Took
	}
	rows := []timelineRow{steps}
	for _, s := range c.Spans {
		from, until := time.Duration(s.From)*time.Millisecond, time.Duration(s.Until)*time.Millisecond
		row := timelineRow{Name: s.Component, Times: fmt.Sprintf("%d to %d s", s.From/1000, s.Until/1000)}
		class, end := "ready", "all ready"
		if !s.Ready {
			class, end, row.Times = "unready", "not all ready when the gate last looked", row.Times+", not ready"
		}
		row.Label = fmt.Sprintf("%s: first workload after %d s; %s after %d s", s.Component, s.From/1000, end, s.Until/1000)
		row.Parts = []timelinePart{part(from, until, class, "")}
		rows = append(rows, row)
	}
	return rows
}

// ganttCells are shown in a summary's chart, and ganttRows components of each: GitHub draws a chart in one piece, and
// a summary has a limit.
const (
	ganttCells = 6
	ganttRows  = 16
)

// notInGantt is what could end a task's name or begin a directive in Mermaid's text.
var notInGantt = regexp.MustCompile(`[^\p{L}\p{N} ._/-]+`)

// mdTimeline is a Gantt chart that GitHub draws: the steps of each cell and when its components became ready. With many
// cells it has the slowest.
func (r *Report) mdTimeline() string {
	var cells []*result.Result
	for i := range r.Results {
		if c := &r.Results[i]; len(c.Phases) > 0 && len(c.Spans) > 0 {
			cells = append(cells, c)
		}
	}
	if len(cells) == 0 {
		return ""
	}
	slices.SortStableFunc(cells, func(a, b *result.Result) int { return cmp.Compare(b.Duration, a.Duration) })
	var b strings.Builder
	b.WriteString("```mermaid\ngantt\n  dateFormat x\n  axisFormat %M:%S\n")
	task := func(name, state string, from, until int64) {
		fmt.Fprintf(&b, "  %s :%s%d, %d\n", notInGantt.ReplaceAllString(name, " "), state, from, max(until, from+1))
	}
	for _, c := range cells[:min(len(cells), ganttCells)] {
		fmt.Fprintf(&b, "  section %s\n", notInGantt.ReplaceAllString(c.Cell.String(), " "))
		at := int64(0)
		for _, p := range c.Phases {
			task("step "+p.Name, "done, ", at, at+p.Duration.Milliseconds())
			at += p.Duration.Milliseconds()
		}
		for _, s := range c.Spans[:min(len(c.Spans), ganttRows)] {
			state := "active, "
			if !s.Ready {
				state = "crit, "
			}
			task(s.Component, state, s.From, s.Until)
		}
	}
	b.WriteString("```\n\nGrey: steps. Others: from the first workload of a component to its last ready pod, red if it was not ready at the end.\n")
	title := "Timeline"
	if n := len(cells) - ganttCells; n > 0 {
		title += fmt.Sprintf(" of the slowest %d cells; report.html has the other %d", ganttCells, n)
	} else {
		title += " of " + lists.Count(len(cells), "cell")
	}
	return mdtext.Folded(title, "", b.String()+"\n")
}
