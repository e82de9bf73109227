package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Of many recipes: how many warnings, notes and root causes the terminal has. All of them are in
// the other reports.
const (
	mostRemarkLines = 12
	mostCauses      = 20
)

// terminalMany is the text after the grid of many recipes. A remark that many of them have is shown
// once, failures are grouped by root cause, the gravest and most frequent first, and the totals are
// at the end, where a person reads first.
func (r *Report) terminalMany() string {
	var b strings.Builder
	for _, lines := range [][]string{atMostOfEach(r.terminalRemarks()), r.chaosMany(), upgradeMany(r.Results), alikeMany(r.Results), r.slowest(), r.terminalUnfinished(result.Interrupted, result.NotRun, result.Skipped)} {
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	passed := map[string]int{} // with artifacts, by the directory of those
	var dirs []string
	for i := range r.Results {
		c := &r.Results[i]
		b.WriteString(terminalKept(c))
		if c.Status == result.Passed && c.Artifacts != "" {
			dir := filepath.Dir(c.Artifacts)
			if passed[dir] == 0 {
				dirs = append(dirs, dir)
			}
			passed[dir]++
		}
	}
	for _, dir := range dirs {
		fmt.Fprintf(&b, "artifacts of %s that passed: %s\n", lists.Count(passed[dir], "cell"), dir)
	}
	causes := r.causes()
	grave := map[result.Status]int{}
	for i, l := range styles() {
		grave[l.Status] = i
	}
	slices.SortStableFunc(causes, func(a, b cause) int {
		return cmp.Or(cmp.Compare(grave[a.Cells[0].Status], grave[b.Cells[0].Status]), cmp.Compare(len(b.Cells), len(a.Cells)))
	})
	for i := range causes {
		if i == mostCauses {
			fmt.Fprintf(&b, "\n… and %s: matrix report %s has them, and so have the files of --html and --summary\n", lists.Count(len(causes)-i, "more root cause"), FileName)
			break
		}
		b.WriteString(r.terminalCause(&causes[i]))
	}
	g := r.grid()
	lines := g.lines()
	fmt.Fprintf(&b, "\n%s\n%s: %d passed in every lane, %d did not\n", TotalsText(r.Results), lists.Count(len(lines), "recipe"), passedLines(lines), len(lines)-passedLines(lines))
	return b.String()
}

// terminalCause is the failure report of one root cause, taken from its first cell.
func (r *Report) terminalCause(c *cause) string {
	first := c.Cells[0]
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s in %s: %s\n", styleOf(first.Status).Mark, r.reasonText(first), lists.Count(len(c.Cells), "cell"), c.Text)
	b.WriteString(storyText(c.Story, c.Text, first.Artifacts))
	if c.Place.File != "" {
		fmt.Fprintf(&b, "  look at: %s\n", c.Place)
	}
	fmt.Fprintf(&b, "  cells: %s\n  rerun: %s\n", r.where(c.Cells, 8), first.Rerun)
	b.WriteString(r.terminalArtifacts(first))
	return b.String()
}

// where names cells: one by one, or of many recipes by recipe; at most n of them.
func (r *Report) where(cells []*result.Result, n int) string {
	g := r.grid()
	if !g.Many {
		return cellNames(cells, n)
	}
	lanes := map[string][]string{}
	var recipes, names []string
	for _, c := range cells {
		if lanes[c.Row()] == nil {
			recipes = append(recipes, c.Row())
		}
		lanes[c.Row()] = append(lanes[c.Row()], c.Deployer)
	}
	for i, recipe := range recipes {
		if i == n {
			names = append(names, "and "+lists.Count(len(recipes)-n, "more recipe"))
			break
		}
		of := strings.Join(lanes[recipe], ", ")
		if len(g.Deployers) > 1 && len(lanes[recipe]) == len(g.Deployers) {
			of = "all lanes"
		}
		names = append(names, recipe+" ("+of+")")
	}
	return strings.Join(names, ", ")
}

// atMostOfEach cuts runs of lines with one label, which ends at the colon, and says how many there
// are.
func atMostOfEach(lines []string) []string {
	label := func(line string) string { before, _, _ := strings.Cut(line, ": "); return before }
	count := map[string]int{}
	for _, line := range lines {
		count[label(line)]++
	}
	seen := map[string]int{}
	var out []string
	for _, line := range lines {
		l := label(line)
		seen[l]++
		switch {
		case seen[l] < mostRemarkLines || count[l] <= mostRemarkLines:
			out = append(out, line)
		case seen[l] == mostRemarkLines:
			out = append(out, fmt.Sprintf("%s: and %d more (all: -o json)", l, count[l]-mostRemarkLines+1))
		}
	}
	return out
}
