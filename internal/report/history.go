package report

import (
	"encoding/json"
	"fmt"

	"github.com/nvidia/aicr-action/internal/result"
)

// CompareWith marks the report's cells with what a history has of them, and adds them to it.
func (r *Report) CompareWith(h *PastHistory) {
	h.Mark(r.Results, r.run())
	h.Add(PastRun{Run: r.run(), URL: r.CI.URL, Commit: r.CI.Commit, Ended: r.Written.UTC()}, r.Results)
}

// WriteHistory replaces the file of a history.
func WriteHistory(h *PastHistory, path string) error {
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

// standing is pastStanding, with the names of at most eight cells.
func standing(cells []*result.Result) string {
	return pastStanding(cells, func(some []*result.Result) string { return cellNames(some, 8) })
}
