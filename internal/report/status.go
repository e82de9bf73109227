package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// style is how reports show a status: a mark and a word, so that the meaning needs no colour.
type style struct {
	Status result.Status
	Mark   string
	Word   string
	Class  string // of the page's style sheet
	Means  string
}

// styles has the statuses in order of urgency, the most urgent first.
func styles() []style {
	return []style{
		{result.Infrastructure, result.Infrastructure.Mark(), "infrastructure", "infra", "the machine or the harness failed, not the recipe"},
		{result.Failed, result.Failed.Mark(), "failed", "failed", "the recipe does not deploy, or a pod is not where it must be"},
		{result.Timeout, result.Timeout.Mark(), "timeout", "timeout", "the sync deadline passed"},
		{result.Interrupted, result.Interrupted.Mark(), "interrupted", "stopped", "a signal ended the cell"},
		{result.NotRun, result.NotRun.Mark(), "not run", "notrun", "the run ended before the cell did"},
		{result.Skipped, result.Skipped.Mark(), "skipped", "skipped", "left out on purpose, e.g. no node profile"},
		{result.Reused, result.Reused.Mark(), "reused", "passed", "passed in an earlier run with the same inputs, and was not run again"},
		{result.Passed, result.Passed.Mark(), "passed", "passed", "every pod landed where the recipe says it must"},
	}
}

func styleOf(s result.Status) style {
	for _, l := range styles() {
		if l.Status == s {
			return l
		}
	}
	return style{s, s.Mark(), string(s), "infra", "a status that this version does not know"}
}

// broken reports whether a cell has a story: it ran, and did not pass.
func broken(s result.Status) bool {
	return !s.Good() && s != result.Skipped && s != result.NotRun
}

// ctrfStatus is the CTRF status of a cell. What was not run is "other" and not "skipped": readers
// of CTRF take skipped tests for fine.
func ctrfStatus(s result.Status) string {
	switch s {
	case result.Passed, result.Reused:
		return "passed"
	case result.Failed, result.Timeout:
		return "failed"
	case result.Skipped:
		return "skipped"
	}
	return "other"
}

// reasonText is a reason with its exit code, e.g. SYNC_TIMEOUT (50).
func (r *Report) reasonText(result *result.Result) string {
	if code := r.code(result); code != 0 {
		return fmt.Sprintf("%s (%d)", result.Reason, code)
	}
	return string(result.Reason)
}

// cellText is what a grid says of a cell beside its mark: how long it took and how many pods there
// are, or the reason, or the status.
func (r *Report) cellText(c *result.Result) string {
	switch {
	case c.Status.Good():
		text := lists.Count(c.Pods, "pod") + anywhere([]int{c.AnyNode})
		if c.Status == result.Reused {
			text = "reused, " + text
		} else if c.SameAs != nil {
			text = "same as " + c.SameAs.Recipe + ", " + text
		} else {
			text = seconds(c.Duration) + ", " + text
		}
		if c.Checks > 0 {
			text += ", " + lists.Count(c.Checks, "check")
		}
		if len(c.Validation) > 0 {
			text += ", " + validated(c.Validation)
		}
		return text
	case r.hasReason(c) && c.SameAs != nil:
		return r.reasonText(c) + ", same as " + c.SameAs.Recipe
	case r.hasReason(c):
		return r.reasonText(c)
	}
	return styleOf(c.Status).Word
}

// anywhere says of how many workloads the kind of node is not known.
func anywhere(counts []int) string {
	if slices.Max(counts) == 0 {
		return ""
	}
	return ", " + span(counts, "workload") + " for any node"
}

// validated summarizes the results of a cell's validation, e.g. "5 validated, 2 skipped".
func validated(list []result.Check) string {
	passed, failed, skipped := result.CountChecks(list)
	text := fmt.Sprintf("%d validated", passed)
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if skipped > 0 {
		text += fmt.Sprintf(", %d skipped", skipped)
	}
	return text
}

// hasReason reports whether a cell is known by its reason. An interrupt's says no more than the
// status does.
func (r *Report) hasReason(c *result.Result) bool {
	return broken(c.Status) && c.Reason != "" && c.Status != result.Interrupted
}

// unfinishedGroup is cells of one status that have one cause.
type unfinishedGroup struct {
	Status result.Status
	Text   string // one line
	Cells  []*result.Result
}

// unfinishedCells groups the cells of some statuses by why they have no verdict.
func (r *Report) unfinishedCells(statuses ...result.Status) []unfinishedGroup {
	var groups []unfinishedGroup
	for _, s := range statuses {
		at := map[string]int{}
		for i := range r.Results {
			c := &r.Results[i]
			if c.Status != s {
				continue
			}
			text := oneLine(c.Cause)
			if c.Reason != "" && c.Reason != reason.Interrupted {
				text = r.reasonText(c) + ": " + text
			}
			j, known := at[text]
			if !known {
				j = len(groups)
				at[text] = j
				groups = append(groups, unfinishedGroup{Status: s, Text: text})
			}
			groups[j].Cells = append(groups[j].Cells, c)
		}
	}
	return groups
}

// TotalsText is e.g. "9 cells: 2 passed, 1 timeout".
func TotalsText(results []result.Result) string {
	count := map[result.Status]int{}
	for i := range results {
		count[results[i].Status]++
	}
	var parts []string
	all := styles()
	for i := range all {
		s := all[(i+len(all)-1)%len(all)].Status // passed first
		if n := count[s]; n > 0 || s == result.Passed {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return lists.Count(len(results), "cell") + ": " + strings.Join(parts, ", ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
