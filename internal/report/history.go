package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/bounded"
)

// historyVersion is raised when an old reader would misread a new file.
const historyVersion = 1

// maxHistory is the largest history that is read, in bytes: ten times that of a thousand cells.
const maxHistory = 64 << 20

// mostRuns is how many runs a history keeps; a cell shows the last mostPast of them.
const (
	mostRuns = 30
	mostPast = 12
)

// History is how the cells of the last runs ended, the oldest run first.
type History struct {
	Version int       `json:"aicrActionHistory"`
	Runs    []pastRun `json:"runs"`
}

type pastRun struct {
	Run    string                 `json:"run"`
	URL    string                 `json:"url,omitempty"`
	Commit string                 `json:"commit,omitempty"`
	Ended  time.Time              `json:"ended,omitzero"`
	Cells  map[string]result.Past `json:"cells"` // by recipe/deployer; only what differs from cell to cell
}

// ReadHistory reads a file that Write wrote. One that does not exist is an empty history.
func ReadHistory(path string) (*History, error) {
	h := &History{Version: historyVersion}
	raw, err := bounded.File(path, maxHistory)
	if errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("read the history of earlier runs: %w", err)
	}
	var read History
	if err := json.Unmarshal(raw, &read); err != nil {
		return h, fmt.Errorf("read the history of earlier runs in %s: %w", path, err)
	}
	if read.Version != historyVersion {
		return h, fmt.Errorf("the history of earlier runs in %s has version %d, and this program reads version %d", path, read.Version, historyVersion)
	}
	return &read, nil
}

// Write replaces the file.
func (h *History) Write(path string) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write the history of runs: %w", err)
	}
	if err := ReplaceFile(path, raw); err != nil {
		return fmt.Errorf("write the history of runs to %s: %w", path, err)
	}
	return nil
}

// Mark adds to each cell of a report its results in earlier runs, and to each failed cell whether
// the failure is new. It ignores earlier attempts of the report's own run.
func (h *History) Mark(r *Report) {
	own := r.run()
	for i := range r.Results {
		c := &r.Results[i]
		c.Past = nil
		for _, run := range h.Runs {
			p, ok := run.Cells[c.Cell.String()]
			if !ok || run.Run == own {
				continue
			}
			p.Run, p.URL, p.Commit, p.Ended = run.Run, run.URL, run.Commit, run.Ended
			c.Past = append(c.Past, p)
		}
		c.Known = known(c)
		c.Past = c.Past[max(0, len(c.Past)-mostPast):]
	}
}

// known compares a cell with its past. An earlier attempt of the same run may have found it flaky
// already.
func known(c *result.Result) result.Known {
	red := isRed(c.Status)
	if c.Known == result.Flaky {
		return c.Known
	}
	if !red {
		return ""
	}
	for _, p := range c.Past {
		if p.Key != "" && p.Key == c.Key && p.Status.Good() {
			return result.Flaky
		}
	}
	switch {
	case len(c.Past) == 0:
		return ""
	case c.Past[len(c.Past)-1].Status.Good():
		return result.New
	}
	return result.AlreadyRed
}

// isRed: the cell has a verdict, and it is not a good one.
func isRed(s result.Status) bool {
	return s == result.Failed || s == result.Timeout || s == result.Infrastructure
}

// Add puts a report's verdicts at the end of the history; cells without one are left out. An
// earlier attempt of the same run is replaced.
func (h *History) Add(r *Report) {
	run := pastRun{Run: r.run(), URL: r.CI.URL, Commit: r.CI.Commit, Ended: r.Written.UTC(), Cells: map[string]result.Past{}}
	for i := range r.Results {
		if c := &r.Results[i]; c.Status.Good() || isRed(c.Status) {
			run.Cells[c.Cell.String()] = result.Past{Status: c.Status, Reason: string(c.Reason), Key: c.Key}
		}
	}
	h.Runs = slices.DeleteFunc(h.Runs, func(old pastRun) bool { return old.Run == run.Run })
	h.Runs = append(h.Runs, run)
	h.Runs = h.Runs[max(0, len(h.Runs)-mostRuns):]
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
