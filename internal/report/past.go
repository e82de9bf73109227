package report

// past.go keeps how cells ended in earlier runs, in a file, and compares results with it. It must
// not know how a report looks.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// version is raised when an old reader would misread a new file.
const version = 1

// maxHistory is the largest history that is read, in bytes: ten times that of a thousand cells.
const maxHistory = 64 << 20

// mostRuns is how many runs a history keeps; a cell shows the last mostPast of them.
const (
	mostRuns = 30
	mostPast = 12
)

// PastHistory is how the cells of the last runs ended, the oldest run first.
type PastHistory struct {
	Version int       `json:"aicrActionHistory"`
	Runs    []PastRun `json:"runs"`
}

// PastRun is how the cells of one run ended.
type PastRun struct {
	Run    string                 `json:"run"`
	URL    string                 `json:"url,omitempty"`
	Commit string                 `json:"commit,omitempty"`
	Ended  time.Time              `json:"ended,omitzero"`
	Cells  map[string]result.Past `json:"cells"` // by recipe/deployer; only what differs from cell to cell
	// Warnings are digests of the cells' warnings, by recipe/deployer.
	Warnings map[string][]string `json:"warnings,omitempty"`
}

// ReadPast reads a file that was written. One that does not exist is an empty history.
func ReadPast(path string) (*PastHistory, error) {
	h := &PastHistory{Version: version}
	raw, err := filesys.File(path, maxHistory)
	if errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("read the history of earlier runs: %w", err)
	}
	var read PastHistory
	if err := json.Unmarshal(raw, &read); err != nil {
		return h, fmt.Errorf("read the history of earlier runs in %s: %w", path, err)
	}
	if read.Version != version {
		return h, fmt.Errorf("the history of earlier runs in %s has version %d, and this program reads version %d", path, read.Version, version)
	}
	return &read, nil
}

// Mark adds to each cell its results in earlier runs, to each failed cell whether the failure is new,
// and to each cell which of its warnings are not. It ignores earlier attempts of the own run.
func (h *PastHistory) Mark(results []result.Result, own string) {
	for i := range results {
		c := &results[i]
		c.Past, c.OldWarnings = nil, nil
		for _, run := range h.Runs {
			p, ok := run.Cells[c.Cell.String()]
			if !ok || run.Run == own {
				continue
			}
			p.Run, p.URL, p.Commit, p.Ended = run.Run, run.URL, run.Commit, run.Ended
			c.Past = append(c.Past, p)
			c.OldWarnings = oldOf(c.Warnings, run.Warnings[c.Cell.String()])
		}
		c.Known = known(c)
		c.Past = c.Past[max(0, len(c.Past)-mostPast):]
	}
}

// oldOf are the places of the warnings whose digests an earlier run has.
func oldOf(warnings, digests []string) []int {
	var old []int
	for i, w := range warnings {
		if slices.Contains(digests, digestOf(w)) {
			old = append(old, i)
		}
	}
	return old
}

// digestOf stands for a warning in a history, which is kept for many runs.
func digestOf(warning string) string {
	sum := sha256.Sum256([]byte(warning))
	return hex.EncodeToString(sum[:8])
}

// known compares a cell with its past. An earlier attempt of the same run may have found it flaky
// already.
func known(c *result.Result) result.Known {
	red := c.Status.Red()
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

// Add puts verdicts at the end of the history; cells without one are left out. An earlier attempt of
// the same run is replaced.
func (h *PastHistory) Add(run PastRun, results []result.Result) {
	run.Cells, run.Warnings = map[string]result.Past{}, map[string][]string{}
	for i := range results {
		if c := &results[i]; c.Status.Good() || c.Status.Red() {
			run.Cells[c.Cell.String()] = result.Past{Status: c.Status, Reason: string(c.Reason), Key: c.Key}
			for _, w := range c.Warnings {
				run.Warnings[c.Cell.String()] = append(run.Warnings[c.Cell.String()], digestOf(w))
			}
		}
	}
	h.Runs = slices.DeleteFunc(h.Runs, func(old PastRun) bool { return old.Run == run.Run })
	h.Runs = append(h.Runs, run)
	h.Runs = h.Runs[max(0, len(h.Runs)-mostRuns):]
}
