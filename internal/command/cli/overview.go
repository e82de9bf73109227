package cli

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/durations"
	"github.com/nvidia/aicr-action/internal/result"
)

// Overview shows the progress of a run of several cells: a mark for each cell, how many are done
// and how many failed, and the remaining time. On a terminal it stays at the foot of the progress;
// in a log it is a line after each cell.
type Overview struct {
	progress *Progress
	left     *durations.Left
	started  time.Time
	// compiling, if set, is the time that compiling takes from now on.
	compiling func(now time.Time) (left time.Duration, under, known bool)

	mu     sync.Mutex
	order  []result.Cell // recipe by recipe
	status map[result.Cell]result.Status
	begun  map[result.Cell]bool
}

// ShowOverview shows on p how a run of these cells, n at a time, goes on. What it costs to run a
// cell is in book. A single cell needs no overview: then it is nil, which may be used.
func ShowOverview(p *Progress, book *durations.Book, cells []result.Cell, n int) *Overview {
	if len(cells) < 2 {
		return nil
	}
	o := &Overview{progress: p, left: durations.NewLeft(book, cells, n), started: time.Now(), status: map[result.Cell]result.Status{}, begun: map[result.Cell]bool{}}
	recipe := map[string]int{}
	for _, c := range cells {
		if _, ok := recipe[c.Recipe]; !ok {
			recipe[c.Recipe] = len(recipe)
		}
	}
	o.order = slices.Clone(cells)
	slices.SortStableFunc(o.order, func(a, b result.Cell) int { return recipe[a.Recipe] - recipe[b.Recipe] })
	p.setFoot(o.lines)
	return o
}

// Free says that a cell takes no time, since it gets another one's verdict.
func (o *Overview) Free(c result.Cell) {
	if o != nil {
		o.left.Free(c)
	}
}

// Tell is a Runner's OnEvent.
func (o *Overview) Tell(e matrix.Event) {
	if o == nil {
		return
	}
	switch {
	case e.Kind == matrix.StepBegin:
		o.mu.Lock()
		o.begun[e.Cell] = true
		o.mu.Unlock()
		o.left.Begin(e.Cell, e.Time)
	case e.Result != nil:
		o.mu.Lock()
		o.status[e.Cell] = e.Result.Status
		o.mu.Unlock()
		o.left.End(*e.Result)
		o.progress.say(o.line(time.Now()))
	}
}

// line summarizes the progress of the run in one line.
func (o *Overview) line(now time.Time) string {
	o.mu.Lock()
	count := map[result.Status]int{}
	for _, s := range o.status {
		count[s]++
	}
	running := 0
	for c := range o.begun {
		if _, ended := o.status[c]; !ended {
			running++
		}
	}
	o.mu.Unlock()
	parts := []string{fmt.Sprintf("%d of %d cells", len(o.status), len(o.order))}
	for _, s := range []result.Status{result.Passed, result.Reused, result.Failed, result.Timeout, result.Infrastructure, result.Interrupted, result.NotRun} {
		if count[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[s], s))
		}
	}
	if running > 0 {
		parts = append(parts, fmt.Sprintf("%d running", running))
	}
	text := strings.Join(parts, ", ") + ", " + about(now.Sub(o.started)) + " so far"
	return text + o.leftText(now)
}

// leftText is the remaining time, if it is known. Cells wait for what is compiled, and most of them run
// meanwhile.
func (o *Overview) leftText(now time.Time) string {
	if len(o.status) == len(o.order) {
		return ""
	}
	cells, known := o.left.At(now)
	var compiling time.Duration
	under, told := false, false
	if o.compiling != nil {
		compiling, under, told = o.compiling(now)
	}
	switch {
	case under && !told:
		return "; programs are being compiled, once, for a time that is not known yet"
	case under && known:
		return fmt.Sprintf(", about %s left, of which %s compile programs, once", about(max(cells, compiling+o.left.Longest())), about(compiling))
	case under:
		return fmt.Sprintf(", about %s left to compile programs, once", about(compiling))
	case known && cells >= time.Second: // else what still runs takes longer than expected, so that nothing is known
		return ", about " + about(cells) + " left"
	}
	return ""
}

// Compiling has the overview count the time of what is compiled while cells run.
func (o *Overview) Compiling(left func(now time.Time) (left time.Duration, under, known bool)) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.compiling = left
}

// about is a duration as a person says it: 40s, 12m, 1h05m.
func about(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%ds", int(d.Round(time.Second).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Round(time.Minute).Minutes()))
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// mostGridLines keeps the foot small beside the lines above it; a run of more cells has only the
// count.
const mostGridLines = 6

// lines are the foot on a terminal: the marks of the cells, recipe by recipe, and the line.
func (o *Overview) lines(width int) []string {
	line := o.line(time.Now())
	o.mu.Lock()
	defer o.mu.Unlock()
	var rows []string
	row, group := "", ""
	flush := func() {
		switch {
		case group == "":
		case row == "":
			row = group
		case len([]rune(row))+1+len([]rune(group)) <= width-3:
			row += " " + group
		default:
			rows = append(rows, row)
			row = group
		}
		group = ""
	}
	for i, c := range o.order {
		if i > 0 && o.order[i-1].Recipe != c.Recipe {
			flush()
		}
		switch s, ended := o.status[c]; {
		case ended:
			group += s.Mark()
		case o.begun[c]:
			group += "•"
		default:
			group += "·"
		}
	}
	flush()
	rows = append(rows, row)
	if len(rows) > mostGridLines {
		rows = nil
	}
	return append(rows, line)
}
