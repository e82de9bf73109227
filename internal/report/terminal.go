package report

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/result"
)

// mostDetails bounds a story to the first screen; the rest is in the artifacts.
const mostDetails = 14

// WriteTerminal writes what a person reads at the end of a run: the grid, what is not the recipe's own, totals, the slowest cells, and each
// failure's story. It has no colours, so that it reads the same in a log.
func (r *Report) WriteTerminal(w io.Writer) error {
	var b strings.Builder
	for _, u := range r.Unread {
		fmt.Fprintf(&b, "not included: %s\n", oneLine(u))
	}
	grid, err := r.terminalGrid()
	if err != nil {
		return err
	}
	b.WriteString(grid)
	if len(r.Results) > 0 {
		first := &r.Results[0]
		fmt.Fprintf(&b, "\ncharts: %s   recipes: %s   cluster: %s\n", first.Charts, first.Recipes, first.Cluster)
	}
	for _, lines := range [][]string{r.terminalRemarks(), r.compared(), {TotalsText(r.Results)}, r.slowest(), r.terminalUnfinished()} {
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	for i := range r.Results {
		b.WriteString(r.terminalStory(&r.Results[i]))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func (r *Report) terminalGrid() (string, error) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	recipes, deployers, cells := r.axes()
	rows := [][]string{append([]string{"RECIPE"}, deployers...)}
	for _, recipe := range recipes {
		row := []string{recipe}
		for _, d := range deployers {
			row = append(row, r.terminalCell(cells[result.Cell{Recipe: recipe, Deployer: d}]))
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return "", err
		}
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (r *Report) terminalCell(c *result.Result) string {
	if c == nil {
		return "-"
	}
	text := lookOf(c.Status).Mark + " " + r.cellText(c)
	if c.Status == result.Passed && len(c.Notes) > 0 {
		text += " *"
	}
	return text
}

// terminalRemarks are the remarks on all cells, each said once. What the harness adds to every run, and what is out of order, is much and
// the same from run to run: it is counted, with all of it in -o json and in cell.json.
func (r *Report) terminalRemarks() []string {
	kinds := r.remarks()
	lines := aboutRemarks(kinds)
	for _, k := range kinds {
		label := strings.ToLower(k.Title)
		switch k.Kind {
		case result.RemarkWarnings, result.RemarkNotes:
			label = k.Label
			if k.Kind == result.RemarkNotes {
				label += " *" // the mark in the grid
			}
			for _, x := range k.Remarks {
				line := label + ": " + x.Text
				if !x.All {
					line += "  [" + cellNames(x.Cells, 4) + "]"
				}
				lines = append(lines, line)
			}
		case result.RemarkHealthPolicy:
			var names []string
			for _, x := range k.Remarks {
				name, _, _ := strings.Cut(x.Text, " ")
				names = append(names, name)
			}
			slices.Sort(names)
			lines = append(lines, fmt.Sprintf("%s: checked for existence only: %s (objects and reasons: -o json)", label, strings.Join(slices.Compact(names), ", ")))
		default:
			lines = append(lines, fmt.Sprintf("%s: %d, e.g. %s (all: -o json)", label, len(k.Remarks), k.Remarks[0].Text))
		}
	}
	return lines
}

// aboutRemarks tells a person who has never seen remarks what they are, in at most two lines.
func aboutRemarks(kinds []remarkKind) []string {
	var simulated, observed []string
	for _, k := range kinds {
		if k.Simulated {
			simulated = append(simulated, k.Phrase)
		} else {
			observed = append(observed, k.Phrase)
		}
	}
	var lines []string
	if len(simulated) > 0 {
		lines = append(lines, "The harness adds "+enumerate(simulated)+" to every run, because nodes and operators are simulated.")
	}
	if len(observed) > 0 {
		who := "The harness"
		if len(lines) > 0 {
			who = "It"
		}
		lines = append(lines, who+" reports "+enumerate(observed)+" for information.")
	}
	if len(lines) > 0 {
		lines[len(lines)-1] += " None of these affects the result: no cell fails because of them."
	}
	return lines
}

// enumerate is "a", "a and b" or "a, b and c".
func enumerate(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// compared says of each recipe which lanes made the same objects as which other one. Those that did not have a story of their own; a
// recipe of which fewer than two cells passed has no line, since nothing is claimed of it.
func (r *Report) compared() []string {
	type group struct{ recipe, with string }
	var order []group
	same := map[group][]string{}
	objects := map[group]int{}
	for i := range r.Results {
		c := &r.Results[i]
		if c.ComparedWith == "" || c.Reason == reason.LaneDivergence {
			continue
		}
		g := group{c.Recipe, c.ComparedWith}
		if same[g] == nil {
			order = append(order, g)
		}
		same[g] = append(same[g], c.Deployer)
		objects[g] = max(objects[g], c.ComparedObjects)
	}
	var lines []string
	for _, g := range order {
		lines = append(lines, fmt.Sprintf("lanes: %s: %s produced the same %d objects as %s", g.recipe, enumerate(same[g]), objects[g], g.with))
	}
	return lines
}

// slowest names the three slowest cells, with the step that took longest.
func (r *Report) slowest() []string {
	var ran []*result.Result
	for i := range r.Results {
		if r.Results[i].Duration > 0 {
			ran = append(ran, &r.Results[i])
		}
	}
	if len(ran) < 2 {
		return nil
	}
	sort.SliceStable(ran, func(i, j int) bool { return ran[i].Duration > ran[j].Duration })
	var parts []string
	for _, c := range ran[:min(3, len(ran))] {
		longest := result.Phase{}
		for _, p := range c.Phases {
			if p.Duration > longest.Duration {
				longest = p
			}
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s %s)", c.Cell, seconds(c.Duration), longest.Name, seconds(longest.Duration)))
	}
	return []string{"slowest: " + strings.Join(parts, ", ")}
}

// terminalUnfinished says why cells were not run, each cause once.
func (r *Report) terminalUnfinished() []string {
	var lines []string
	for _, u := range r.unfinishedCells(result.NotRun, result.Skipped) {
		lines = append(lines, fmt.Sprintf("%s %s: %s  [%s]", lookOf(u.Status).Mark, lookOf(u.Status).Word, u.Text, cellNames(u.Cells, 20)))
	}
	return lines
}

func (r *Report) terminalStory(c *result.Result) string {
	var b strings.Builder
	if broken(c.Status) {
		at := ""
		if c.Stage != "" {
			at = ", at " + string(c.Stage)
		}
		fmt.Fprintf(&b, "\n%s %s  %s%s: %s\n", lookOf(c.Status).Mark, c.Cell, r.reasonText(c), at, c.Cause)
		for i, d := range c.Details {
			if i == 0 && d == c.Cause {
				continue // said already
			}
			if i == mostDetails {
				fmt.Fprintf(&b, "    … and %d more lines", len(c.Details)-i)
				if c.Artifacts != "" {
					b.WriteString(" in summary.md")
				}
				b.WriteString("\n")
				break
			}
			b.WriteString("    " + strings.ReplaceAll(d, "\n", "\n      ") + "\n")
		}
		fmt.Fprintf(&b, "  rerun: %s\n", c.Rerun)
	}
	if c.Artifacts != "" {
		first := ""
		if c.Status != result.Passed {
			first = " (open summary.md first)"
		}
		fmt.Fprintf(&b, "  %s artifacts: %s%s\n", c.Cell, c.Artifacts, first)
		if r.Replay != nil {
			if command := r.Replay(c.Artifacts); command != "" {
				fmt.Fprintf(&b, "  look around in its cluster: %s\n", command)
			}
		}
	}
	if c.Kubeconfig != "" {
		fmt.Fprintf(&b, "  %s is kept: export KUBECONFIG=%s\n", c.Cell, c.Kubeconfig)
	}
	return b.String()
}
