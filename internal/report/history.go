package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/report/past"
	"github.com/nvidia/aicr-action/internal/result"
)

// CompareWith marks the report's cells with what a history has of them, and adds them to it.
func (r *Report) CompareWith(h *past.History) {
	h.Mark(r.Results, r.run())
	h.Add(past.Run{Run: r.run(), URL: r.CI.URL, Commit: r.CI.Commit, Ended: r.Written.UTC()}, r.Results)
}

// WriteHistory replaces the file of a history.
func WriteHistory(h *past.History, path string) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write the history of runs: %w", err)
	}
	if err := ReplaceFile(path, raw); err != nil {
		return fmt.Errorf("write the history of runs to %s: %w", path, err)
	}
	return nil
}

// run is what identifies the report's run: CI's ID of it, if there is one.
func (r *Report) run() string {
	if r.CI.RunID != "" {
		return r.CI.RunID
	}
	return r.RunID
}

// standing says which of the cells are newly failing, already failing or flaky. It returns "" if
// the history has none of them.
func standing(cells []*result.Result) string {
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
			text += ": " + cellNames(these, 8)
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
