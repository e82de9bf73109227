package report

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
)

// pastStanding says which of the cells are newly failing, already failing or flaky; names lists some of
// them. It returns "" if the history has none of them.
func pastStanding(cells []*result.Result, names func([]*result.Result) string) string {
	var parts []string
	for _, k := range []struct {
		known result.Known
		says  string
	}{{result.New, "new, passed in run %s"}, {result.AlreadyRed, "already red in run %s"}, {result.Flaky, "flaky, ended both ways with the same inputs"}} {
		var these []*result.Result
		for _, c := range cells {
			if c.Known == k.known {
				these = append(these, c)
			}
		}
		if len(these) == 0 {
			continue
		}
		text := k.says
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, lastRun(these[0].Past))
		}
		if len(these) < len(cells) {
			text += ": " + names(these)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// lastRun names the last run of a past, and its commit if that is known.
func lastRun(past []result.Past) string {
	if len(past) == 0 {
		return "?"
	}
	last := past[len(past)-1]
	if len(last.Commit) >= 7 {
		return last.Run + " (" + last.Commit[:7] + ")"
	}
	return last.Run
}
