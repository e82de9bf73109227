package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix"
)

// look is how a status is shown: a mark and a word, so that nothing depends on colour.
type look struct {
	Status matrix.Status
	Mark   string
	Word   string
	Class  string // of the page's style sheet
	Means  string
}

// looks is in the order in which a person must look at them.
func looks() []look {
	return []look{
		{matrix.Infrastructure, "⚠", "infrastructure", "infra", "the machine or the harness failed, not the recipe"},
		{matrix.Failed, "✗", "failed", "failed", "the recipe does not deploy, or a pod is not where it must be"},
		{matrix.Timeout, "◷", "timeout", "timeout", "the sync deadline passed"},
		{matrix.Interrupted, "■", "interrupted", "stopped", "a signal ended the cell"},
		{matrix.NotRun, "○", "not run", "notrun", "the run ended before the cell did"},
		{matrix.Skipped, "–", "skipped", "skipped", "left out on purpose, e.g. no node profile"},
		{matrix.Passed, "✓", "passed", "passed", "every pod landed where the recipe says it must"},
	}
}

func lookOf(s matrix.Status) look {
	for _, l := range looks() {
		if l.Status == s {
			return l
		}
	}
	return look{s, "?", string(s), "infra", "a status that this version does not know"}
}

// broken reports whether a cell has a story: it ran, and did not pass.
func broken(s matrix.Status) bool {
	return s != matrix.Passed && s != matrix.Skipped && s != matrix.NotRun
}

// ctrfStatus is the CTRF status of a cell. What was not run is "other" and not "skipped": readers of CTRF take skipped tests for fine.
func ctrfStatus(s matrix.Status) string {
	switch s {
	case matrix.Passed:
		return "passed"
	case matrix.Failed, matrix.Timeout:
		return "failed"
	case matrix.Skipped:
		return "skipped"
	}
	return "other"
}

// reasonText is a reason with its exit code, e.g. SYNC_TIMEOUT (50).
func (r *Report) reasonText(result *matrix.Result) string {
	if code := r.code(result); code != 0 {
		return fmt.Sprintf("%s (%d)", result.Reason, code)
	}
	return string(result.Reason)
}

// TotalsText is e.g. "9 cells: 2 passed, 1 timeout".
func TotalsText(results []matrix.Result) string {
	count := map[matrix.Status]int{}
	for i := range results {
		count[results[i].Status]++
	}
	var parts []string
	all := looks()
	for i := range all {
		s := all[(i+len(all)-1)%len(all)].Status // passed first
		if n := count[s]; n > 0 || s == matrix.Passed {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return plural(len(results), "cell") + ": " + strings.Join(parts, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
