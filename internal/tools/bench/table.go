package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// figures are what a run took.
type figures struct {
	args      string
	results   []result.Result
	wall, cpu time.Duration // of the whole run, its processes included
	peak      int64         // bytes of all processes together; 0 where it cannot be read
}

// part is a column of CPU times.
type part struct {
	name string
	has  func(process string) bool
}

func named(names ...string) func(string) bool {
	return func(process string) bool { return slices.Contains(names, process) }
}

// parts are the columns, the first that has a process counts it; the last has the rest, which are
// Argo CD's and Flux's.
func parts() []part {
	return []part{
		{"API server", named("kube-apiserver")},
		{"etcd", named("etcd")},
		{"scheduler, managers, KWOK", named("kube-scheduler", "kube-controller-manager", "kwok-controller")},
		{"Argo CD, Flux", func(string) bool { return true }},
	}
}

// marks are the lines of the page between which a table is.
type marks struct{ begin, end string }

// cellMarks are those of the table of cells.
var cellMarks = marks{"<!-- made by `make bench-matrix UPDATE=1` -->\n", "<!-- end of what `make bench-matrix` made -->\n"}

// table is the figures in Markdown, a row for each cell.
func (f *figures) table() string {
	var b strings.Builder
	b.WriteString("| `matrix run " + f.args + "` | wall | CPU | ready after |")
	rule := "|---|--:|--:|--:|"
	for _, p := range parts() {
		b.WriteString(" " + p.name + " |")
		rule += "--:|"
	}
	b.WriteString(" harness |\n" + rule + "--:|\n")
	all := map[string]time.Duration{}
	var stack time.Duration
	for _, r := range f.results {
		of := map[string]time.Duration{}
		var sum time.Duration
		for _, p := range r.Processes {
			name := parts()[slices.IndexFunc(parts(), func(c part) bool { return c.has(p.Name) })].name
			of[name] += p.CPU
			all[name] += p.CPU
			sum += p.CPU
		}
		stack += sum
		b.WriteString(row(r.Cell.String(), r.Duration, sum, readyAfter(&r), of, ""))
	}
	b.WriteString(row("all", f.wall, f.cpu, "", all, seconds(f.cpu-stack)))
	if f.peak > 0 {
		fmt.Fprintf(&b, "\nAt most %.1f GiB at once, over all processes.\n", float64(f.peak)/(1<<30))
	}
	return b.String()
}

func row(name string, wall, cpu time.Duration, ready string, of map[string]time.Duration, harness string) string {
	cells := []string{name, seconds(wall), seconds(cpu), ready}
	for _, p := range parts() {
		cells = append(cells, seconds(of[p.name]))
	}
	return strings.TrimRight("| "+strings.Join(append(cells, harness), " | ")+" |", "\n") + "\n"
}

// readyAfter is the time from a cell's start until its cluster was ready, in hundredths of a
// second. It is almost zero for a cell whose cluster was started ahead, which the text says.
func readyAfter(r *result.Result) string {
	if r.ReadyAfter == 0 {
		return "" // it did not come so far
	}
	text := fmt.Sprintf("%.2f s", r.ReadyAfter.Seconds())
	if r.Cost() > r.Duration {
		text += ", started ahead"
	}
	return text
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// find is the table that the page has.
func (m marks) find(page string) (string, error) {
	_, rest, begun := strings.Cut(page, m.begin)
	table, _, ended := strings.Cut(rest, m.end)
	if !begun || !ended {
		return "", errors.New("it has no place for the table: want the lines " + strings.TrimSpace(m.begin) + " and " + strings.TrimSpace(m.end))
	}
	return table, nil
}

func (m marks) replace(page, table string) string {
	before, rest, _ := strings.Cut(page, m.begin)
	_, after, _ := strings.Cut(rest, m.end)
	return before + m.begin + "\n" + table + "\n" + m.end + after
}

var figureRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([0-9.]+) s \| ([0-9.]+) s \|`)

// compare says for each row that both tables have how wall and CPU time changed.
func compare(kept, now string) string {
	old := map[string][]string{}
	for _, m := range figureRow.FindAllStringSubmatch(kept, -1) {
		old[m[1]] = m[2:]
	}
	if len(old) == 0 {
		return "the page has no table to compare with\n"
	}
	var b strings.Builder
	for _, m := range figureRow.FindAllStringSubmatch(now, -1) {
		before, ok := old[m[1]]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "%s: wall %s, CPU %s\n", m[1], change(before[0], m[2]), change(before[1], m[3]))
	}
	if b.Len() == 0 {
		return "the table of the page is of other cells\n"
	}
	return b.String()
}

func change(before, now string) string {
	x, _ := strconv.ParseFloat(before, 64) // digits and a point
	y, _ := strconv.ParseFloat(now, 64)
	if x == 0 {
		return fmt.Sprintf("%s s to %s s", before, now)
	}
	return fmt.Sprintf("%s s to %s s (%+.0f %%)", before, now, 100*(y-x)/x)
}
