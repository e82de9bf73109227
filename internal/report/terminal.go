package report

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// mostDetails limits a failure report to the first screen; the rest is in the debug artifacts.
const mostDetails = 14

// WriteTerminal writes the report that a person reads at the end of a run: the grid, a failure
// report for each failure, what is new or the recipe's, and totals. What is the same in every run
// is counted, unless Explain is set. With many recipes, failures with one root cause share one
// failure report. It has no colours, so that it is the same in a log.
func (r *Report) WriteTerminal(w io.Writer) error {
	var b strings.Builder
	for _, u := range r.Unread {
		fmt.Fprintf(&b, "not included: %s\n", oneLine(u))
	}
	b.WriteString(r.terminalGrid())
	if r.grid().Many {
		b.WriteString(r.terminalInputs())
		b.WriteString(r.terminalMany())
	} else {
		b.WriteString(r.terminalFew())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// terminalInputs says what the cells were made from.
func (r *Report) terminalInputs() string {
	if len(r.Results) == 0 {
		return ""
	}
	first := &r.Results[0]
	data := ""
	if first.Data != "" {
		data = "   data: " + first.Data
	}
	kind, at := first.Input()
	return fmt.Sprintf("\ncharts: %s   %s: %s%s   cluster: %s\n", first.Charts, kind, at, data, first.Cluster)
}

// terminalFew is what follows the grid of a few recipes: first why cells failed, then the rest.
func (r *Report) terminalFew() string {
	var b strings.Builder
	for _, cells := range r.sameStories() {
		b.WriteString(r.terminalStory(cells))
	}
	for i, line := range r.terminalUnfinished(result.NotRun) { // a cause stands before the remarks
		b.WriteString(strings.Repeat("\n", max(0, 1-i)) + line + "\n")
	}
	b.WriteString(r.terminalInputs())
	for _, lines := range [][]string{r.terminalRemarks(), r.terminalChaos(), upgradeTerminal(r.Results, r.Explain), alikeLines(r.Results), r.explained(r.slowest), r.terminalUnfinished(result.Skipped)} {
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	for i := range r.Results {
		if c := &r.Results[i]; !broken(c.Status) {
			b.WriteString(r.terminalArtifacts(c) + terminalKept(c))
		}
	}
	if len(r.Results) > 0 {
		b.WriteString(TotalsText(r.Results) + "\n")
	}
	return b.String()
}

// explained are lines that only Explain prints.
func (r *Report) explained(lines func() []string) []string {
	if !r.Explain {
		return nil
	}
	return lines()
}

// terminalRemarks are the remarks on all cells, each said once. Those that are the same from run to
// run are counted, unless Explain is set; all of them are in -o json and in cell.json.
func (r *Report) terminalRemarks() []string {
	var kinds []remarkKind
	var counts []string
	for _, k := range r.remarks() {
		switch {
		case r.Explain || !k.Usual:
			fresh, old := k.split()
			if len(old) > 0 && !r.Explain {
				k.Remarks = fresh
				counts = append(counts, fmt.Sprintf("%d %s unchanged since run %s", len(old), k.Phrase, old[0].Old))
			}
			kinds = append(kinds, k)
		case k.Counted != "":
			counts = append(counts, counted(len(k.Remarks), k.Counted))
		}
	}
	lines := r.explained(func() []string { return aboutRemarks(kinds) })
	for _, k := range kinds {
		label := k.Label
		if k.Kind == result.RemarkNotes {
			label += " *" // the mark in the grid
		}
		for _, x := range k.Remarks {
			line := label + ": " + x.Text
			if !x.All {
				line += "  [" + r.where(x.Cells, 4) + "]"
			}
			lines = append(lines, line)
		}
	}
	if len(counts) > 0 {
		lines = append(lines, "not shown: "+strings.Join(counts, ", ")+" (--explain shows them)")
	}
	return lines
}

// aboutRemarks explains remarks to a new reader, in at most two lines.
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
		lines = append(lines, "The harness adds "+lists.And(simulated)+" to every run, because nodes and operators are simulated.")
	}
	if len(observed) > 0 {
		who := "The harness"
		if len(lines) > 0 {
			who = "It"
		}
		lines = append(lines, who+" reports "+lists.And(observed)+" for information.")
	}
	if len(lines) > 0 {
		lines[len(lines)-1] += " None of these affects the result: no cell fails because of them."
	}
	return lines
}

// sameObjects says which lanes made the same objects, of many recipes in few lines, for a page and for
// Markdown.
func (r *Report) sameObjects(many bool) []string {
	lines := alikeLines(r.Results)
	if many {
		lines = alikeMany(r.Results)
	}
	lines = atMostOfEach(lines)
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "lanes: ")
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

// terminalUnfinished says why cells have no verdict, each cause once.
func (r *Report) terminalUnfinished(statuses ...result.Status) []string {
	var lines []string
	for _, u := range r.unfinishedCells(statuses...) {
		lines = append(lines, fmt.Sprintf("%s %s: %s  [%s]", styleOf(u.Status).Mark, styleOf(u.Status).Word, u.Text, r.where(u.Cells, 20)))
	}
	return lines
}

// sameStories are the cells that have failed, those of one recipe together that failed for the same cause in several
// lanes: a person reads it once.
func (r *Report) sameStories() (all [][]*result.Result) {
	for i := range r.Results {
		c := &r.Results[i]
		if !broken(c.Status) {
			continue
		}
		same := slices.IndexFunc(all, func(cells []*result.Result) bool {
			first := cells[0]
			return first.Row() == c.Row() && first.Status == c.Status && first.Reason == c.Reason && first.Stage == c.Stage && first.Cause == c.Cause && placeOf(first) == placeOf(c)
		})
		if same < 0 {
			all = append(all, []*result.Result{c})
			continue
		}
		all[same] = append(all[same], c)
	}
	return all
}

// terminalStory is the failure report of cells that have failed for one cause. The details and the command are the
// first one's.
func (r *Report) terminalStory(cells []*result.Result) string {
	c, name, at := cells[0], cells[0].Cell.String(), ""
	if len(cells) > 1 {
		var lanes []string
		for _, cell := range cells {
			lanes = append(lanes, cell.Deployer)
		}
		name = c.Row() + " in " + strings.Join(lanes, ", ")
	}
	if c.Stage != "" {
		at = ", at " + string(c.Stage)
	}
	text := fmt.Sprintf("\n%s %s  %s%s: %s\n", styleOf(c.Status).Mark, name, r.reasonText(c), at, c.Cause) + storyText(c.Details, c.Cause, c.Artifacts)
	text += fmt.Sprintf("  rerun: %s\n", c.Rerun)
	for _, cell := range cells {
		text += r.terminalArtifacts(cell) + terminalKept(cell)
	}
	return text
}

// storyText is the first and the last lines of a failure report, without a first one that repeats the cause.
func storyText(story []string, cause, artifacts string) string {
	if len(story) > 0 && oneLine(story[0]) == cause {
		_, more, _ := strings.Cut(strings.TrimSpace(story[0]), "\n")
		story = slices.Clone(story[1:])
		if more != "" {
			story = append([]string{more}, story...)
		}
	}
	where := ""
	if artifacts != "" {
		where = " in summary.md"
	}
	var b strings.Builder
	for _, d := range headAndTail(story, mostDetails, where) {
		b.WriteString("    " + strings.Join(headAndTail(strings.Split(d, "\n"), mostLines, where), "\n      ") + "\n")
	}
	return b.String()
}

// terminalArtifacts says where a cell's debug artifacts are, and how to explore its cluster.
func (r *Report) terminalArtifacts(c *result.Result) string {
	if c.Artifacts == "" {
		return ""
	}
	first := ""
	if c.Status != result.Passed {
		first = " (open summary.md first)"
	}
	text := fmt.Sprintf("  %s artifacts: %s%s\n", c.Cell, c.Artifacts, first)
	if r.Replay != nil {
		if command := r.Replay(c.Artifacts); command != "" {
			text += fmt.Sprintf("  inspect its cluster: %s\n", command)
		}
	}
	return text
}

func terminalKept(c *result.Result) string {
	if c.Kubeconfig == "" {
		return ""
	}
	return fmt.Sprintf("  %s is kept: export KUBECONFIG=%s\n", c.Cell, c.Kubeconfig)
}
