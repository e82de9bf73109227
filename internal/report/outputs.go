package report

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Output is an output of a GitHub step.
type Output struct{ Name, Value string }

// failedCell is an entry of the output failed-cells. Code is its exit code, or 0 without one.
type failedCell struct {
	Recipe   string        `json:"recipe"`
	Deployer string        `json:"deployer"`
	From     string        `json:"from,omitempty"`
	Sequence string        `json:"sequence,omitempty"`
	Reason   reason.Reason `json:"reason"`
	Code     int           `json:"code"`
}

// Outputs are the Action's outputs about cells: total, passed, failed, skipped, not-run, and
// failed-cells, a JSON array of failedCell on one line. Each cell counts in exactly one of the
// four: failed are those that failed, timed out or broke with the machine; not-run are those
// without a verdict because of a signal, a deadline or a failed setup.
func (r *Report) Outputs() ([]Output, error) {
	t := Count(r.Results)
	failed := []failedCell{}
	for i := range r.Results {
		switch c := &r.Results[i]; c.Status {
		case result.Failed, result.Timeout, result.Infrastructure:
			failed = append(failed, failedCell{c.Recipe, c.Deployer, c.From, c.Sequence, c.Reason, r.code(c)})
		}
	}
	list, err := json.Marshal(failed)
	if err != nil {
		return nil, fmt.Errorf("write the failed cells as JSON: %w", err)
	}
	return []Output{
		{"total", strconv.Itoa(t.Cells)}, {"passed", strconv.Itoa(t.Passed + t.Reused)}, {"reused", strconv.Itoa(t.Reused)}, {"failed", strconv.Itoa(len(failed))}, {"skipped", strconv.Itoa(t.Skipped)},
		{"not-run", strconv.Itoa(t.NotRun + t.Interrupted)}, {"failed-cells", string(list)},
	}, nil
}

// WriteOutputs writes outputs in the format of the file that GITHUB_OUTPUT names. Each value has
// random delimiters, so that an untrusted value cannot contain one and set another output.
// (go-githubactions has a fixed delimiter, and panics if the file cannot be written.)
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#multiline-strings
func WriteOutputs(w io.Writer, all []Output) error {
	for _, o := range all {
		end := rand.Text()
		if _, err := fmt.Fprintf(w, "%s<<%s\n%s\n%s\n", o.Name, end, o.Value, end); err != nil {
			return err
		}
	}
	return nil
}
