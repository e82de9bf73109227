// Package report writes the results of a run for people and for other programs: the terminal, CTRF,
// JUnit XML, Markdown, HTML and GitHub annotations. It decides nothing: verdicts come from
// internal/matrix, exit codes from cmd/matrix.
//
// docs/results.md lists every field and file name.
package report

import (
	"fmt"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Report is the results of a run, or of several that were merged.
type Report struct {
	Meta
	Results []result.Result
	// Unread are results files that should have been merged and could not be read, each with the
	// reason. A report with any is incomplete, and says so.
	Unread []string

	narrow bool // the Markdown is for a comment, which is as wide as a telephone
}

// Meta says which run it was. Every field may be empty.
type Meta struct {
	Tool    string // version of the program
	RunID   string
	Started time.Time
	Written time.Time // when the report was made
	CI      CI
	// Shards are those that the results are of; none for a run that was not divided.
	Shards []Shard
	// Rules are the checks, and Checkout is where the files are that findings name, for SARIF. They are not in
	// other files.
	Rules    []Rule
	Checkout Checkout
	// Code gives a reason's exit code; 0 if it has none, as for an interrupt. Nil leaves codes out.
	// It is not in files.
	Code func(reason.Reason) int
	// Replay returns the command that boots the snapshot of a cell's cluster in its directory of
	// debug artifacts, or "" without a snapshot. Nil leaves these commands out. It is not in files.
	Replay func(artifacts string) string
	// Explain lists all remarks on the terminal, also those that are the same in every run. It is
	// not in files.
	Explain bool
	// Width of the terminal in columns; 0 for no limit. It is not in files.
	Width int
}

// Shard is one share of a run's cells.
type Shard struct {
	Number int `json:"number"` // from 1
	Of     int `json:"of"`
	// Division is a digest of which cell is in which share: shards that do not agree on it may have
	// left a cell out.
	Division string `json:"division"`
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// missingShards says why the results of these shards may lack cells, a line each.
func missingShards(shards []Shard) []string {
	if len(shards) == 0 {
		return nil
	}
	first := shards[0]
	there := map[int]bool{}
	for _, s := range shards {
		if s.Division != first.Division || s.Of != first.Of {
			return []string{fmt.Sprintf("shards %s and %s divide different cells, or by other --costs: a cell may be in none of them", first, s)}
		}
		there[s.Number] = true
	}
	var missing []string
	for i := 1; i <= first.Of; i++ {
		if !there[i] {
			missing = append(missing, fmt.Sprintf("shard %d/%d is missing, and with it its cells", i, first.Of))
		}
	}
	return missing
}

// CI is what a CI system says about the job; empty on a person's machine.
type CI struct {
	Repository string
	URL        string // of the job's run
	Commit     string
	Branch     string
	Workflow   string
	RunNumber  int
	RunID      string
	Attempt    string
	Shard      string // e.g. 2/4
}

// Totals counts cells by status.
type Totals struct {
	Cells, Passed, Reused, Failed, Timeout, Infrastructure, Interrupted, Skipped, NotRun int
}

// Count counts results.
func Count(results []result.Result) Totals {
	t := Totals{Cells: len(results)}
	for _, r := range results {
		switch r.Status {
		case result.Passed:
			t.Passed++
		case result.Reused:
			t.Reused++
		case result.Failed:
			t.Failed++
		case result.Timeout:
			t.Timeout++
		case result.Infrastructure:
			t.Infrastructure++
		case result.Interrupted:
			t.Interrupted++
		case result.Skipped:
			t.Skipped++
		default:
			t.NotRun++
		}
	}
	return t
}

// Green reports whether at least one cell passed, now or with the same inputs in an earlier run,
// and all others passed or were skipped. Only then does a run exit with 0.
func (r *Report) Green() bool {
	t := Count(r.Results)
	return len(r.Unread) == 0 && t.Passed+t.Reused > 0 && t.Passed+t.Reused+t.Skipped == t.Cells
}

// code is the exit code of a result; 0 if none is known.
func (r *Report) code(result *result.Result) int {
	if r.Code == nil || result.Reason == "" {
		return 0
	}
	return r.Code(result.Reason)
}

// axes are the recipes and deployers of the grid, in the order in which results name them, and the
// results by cell. The upgrades of a recipe are a line of their own, whose name stands for a
// recipe's.
func (r *Report) axes() (recipes, deployers []string, cells map[result.Cell]*result.Result) {
	cells = map[result.Cell]*result.Result{}
	seen := map[string]bool{}
	for i := range r.Results {
		c := r.Results[i].Cell
		row := c.Row()
		if !seen["r "+row] {
			seen["r "+row] = true
			recipes = append(recipes, row)
		}
		if !seen["d "+c.Deployer] {
			seen["d "+c.Deployer] = true
			deployers = append(deployers, c.Deployer)
		}
		cells[result.Cell{Recipe: row, Deployer: c.Deployer}] = &r.Results[i]
	}
	return recipes, deployers, cells
}

// finished is when the last cell ended; the zero time if none has run.
func (r *Report) finished() time.Time {
	var last time.Time
	for i := range r.Results {
		if end := r.Results[i].Started.Add(r.Results[i].Duration); !r.Results[i].Started.IsZero() && end.After(last) {
			last = end
		}
	}
	return last
}

// began is the start of the run, or of its first cell if that is unknown.
func (r *Report) began() time.Time {
	first := r.Started
	for i := range r.Results {
		if s := r.Results[i].Started; !s.IsZero() && (first.IsZero() || s.Before(first)) {
			first = s
		}
	}
	return first
}
