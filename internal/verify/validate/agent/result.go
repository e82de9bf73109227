package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// BeginMarker and EndMarker are the lines of a log between which each line is a goTestEvent.
const (
	BeginMarker = "--- BEGIN TEST OUTPUT ---"
	EndMarker   = "--- END TEST OUTPUT ---"
)

// outcomePrefix is the prefix of the line of a test's output with the check's validate.Outcome, as
// JSON.
const outcomePrefix = "aicr outcome: "

// goTestEvent represents a single event from go test -json output.
type goTestEvent struct {
	Time    time.Time
	Action  string
	Package string  `json:",omitempty"`
	Test    string  `json:",omitempty"`
	Output  string  `json:",omitempty"`
	Elapsed float64 `json:",omitempty"` // seconds
}

// TestResult represents the result of a single test function.
type TestResult struct {
	// Name is the test function's name, e.g. TestOperatorHealth.
	Name string `json:"name"`
	// Status is the test result: pass, fail or skip in JSON.
	Status result.StepStatus `json:"status"`
	// Duration is how long the test took, in nanoseconds as JSON.
	Duration time.Duration `json:"duration"`
	// Output contains the test output lines.
	Output []string `json:"output,omitempty"`
}

// Outcome is what the check of the test found; false if the test ended before it printed that.
func (t *TestResult) Outcome() (validate.Outcome, bool) {
	for _, line := range t.Output {
		text, ok := strings.CutPrefix(line, outcomePrefix)
		if !ok {
			continue
		}
		var out validate.Outcome
		if json.Unmarshal([]byte(text), &out) == nil && out.Status != "" {
			return out, true
		}
	}
	return validate.Outcome{}, false
}

// ValidationResult represents the result of running validation checks.
type ValidationResult struct {
	// CheckName is the name of the check that was run: the test pattern, or the test binary if all
	// of its tests ran.
	CheckName string `json:"checkName"`
	// Phase is the validation phase.
	Phase string `json:"phase"`
	// Status is the result status: pass, fail or skip in JSON.
	Status result.StepStatus `json:"status"`
	// Message provides details about the result.
	Message string `json:"message,omitempty"`
	// Duration is how long the checks took, in nanoseconds as JSON.
	Duration time.Duration `json:"duration"`
	// Details contains structured data about the result: job, namespace.
	Details map[string]interface{} `json:"details,omitempty"`
	// Tests contains individual test results. Each entry represents a single test function that was
	// executed.
	Tests []TestResult `json:"tests,omitempty"`
}

// GetResult retrieves the validation result: from the log of the Job's pod, or, once the Job is
// deleted, from Config.ResultConfigMap. A failed check is a result, not an error; a log or a
// ConfigMap without a result is a *JobError (noResult). If another number of tests ran than
// Config.ExpectedTests, the result is a failure.
func (d *Deployer) GetResult(ctx context.Context) (*ValidationResult, error) {
	j := d.job()
	if d.config.ResultConfigMap != "" {
		_, err := d.clientset.BatchV1().Jobs(j.namespace).Get(ctx, j.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return d.storedResult(ctx)
		}
		if err != nil {
			return nil, failed("find "+j.String(), j.namespace, err)
		}
	}
	log, err := j.log(ctx)
	if err != nil {
		return nil, err
	}
	events, err := j.events(log)
	if err != nil {
		return nil, err
	}
	phase, err := d.config.phase()
	if err != nil {
		return nil, err
	}
	r := summarize(events)
	r.CheckName, r.Phase = d.config.TestPattern, string(phase)
	if r.CheckName == "" {
		r.CheckName = testBinary(d.config.TestPackage)
	}
	r.Details = map[string]any{"job": j.name, "namespace": j.namespace}
	if want := d.config.ExpectedTests; want > 0 && len(r.Tests) > 0 && want != len(r.Tests) {
		var names []string
		for _, t := range r.Tests {
			names = append(names, t.Name)
		}
		r.Status = result.StepFailed
		r.Message = fmt.Sprintf("%d tests were expected, and %d ran: %s; the image may be of another version than this program", want, len(r.Tests), strings.Join(names, ", "))
	}
	return r, nil
}

// storedResult is that of the Job's last run, as StoreResults wrote it.
func (d *Deployer) storedResult(ctx context.Context) (*ValidationResult, error) {
	j, name := d.job(), d.config.ResultConfigMap
	m, err := d.clientset.CoreV1().ConfigMaps(j.namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, j.fail(noResult, "is gone, and there is no %s with its result", named("ConfigMap", j.namespace, name))
	}
	if err != nil {
		return nil, failed("read "+named("ConfigMap", j.namespace, name), j.namespace, err)
	}
	var stored []*ValidationResult
	if err := json.Unmarshal([]byte(m.Data[resultKey]), &stored); err != nil {
		return nil, j.fail(noResult, "is gone, and the key %s of %s is no list of results: %v", resultKey, named("ConfigMap", j.namespace, name), err)
	}
	for _, r := range stored {
		if r != nil && r.Details["job"] == j.name {
			return r, nil
		}
	}
	return nil, j.fail(noResult, "is gone, and %s has no result of it", named("ConfigMap", j.namespace, name))
}

// events are those between the markers of a log.
func (j job) events(log string) ([]goTestEvent, error) {
	var events []goTestEvent
	begun, ended := false, false
	scanner := bufio.NewScanner(strings.NewReader(log))
	scanner.Buffer(nil, mostLog)
	for scanner.Scan() && !ended {
		line := strings.TrimRight(scanner.Text(), "\r")
		switch {
		case line == BeginMarker:
			begun = true
		case line == EndMarker && begun:
			ended = true
		case begun:
			var e goTestEvent
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				events = append(events, e)
			}
		}
	}
	switch {
	case strings.TrimSpace(log) == "":
		return nil, j.fail(noResult, "printed nothing; if its node is simulated, its container never ran")
	case !begun:
		return nil, j.fail(noResult, "printed no result: its log has no line %q; does the image contain this version of aicr? The log ends with:\n%s", BeginMarker, tail(log))
	case !ended:
		return nil, j.fail(noResult, "ended before its result was complete: its log has no line %q. The log ends with:\n%s", EndMarker, tail(log))
	}
	return events, nil
}

// tail is the end of a log, for a message.
func tail(log string) string {
	lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// summarize returns the tests of events in the order of their starts. A test without an end has
// failed, since its process ended before it.
func summarize(events []goTestEvent) *ValidationResult {
	r := &ValidationResult{Status: result.StepPassed}
	at := map[string]int{}
	var around []string // output of no test, e.g. a panic
	for _, e := range events {
		if e.Test == "" {
			if line := strings.TrimSpace(e.Output); line != "" && line != "PASS" && line != "FAIL" {
				around = append(around, line)
			}
			if e.Action == failAction {
				r.Status = result.StepFailed
			}
			continue
		}
		i, ok := at[e.Test]
		if !ok {
			i = len(r.Tests)
			at[e.Test] = i
			r.Tests = append(r.Tests, TestResult{Name: e.Test})
		}
		t := &r.Tests[i]
		if e.Action == "output" {
			if line := strings.TrimRight(e.Output, "\n"); line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(strings.TrimLeft(line, " "), "--- ") {
				t.Output = append(t.Output, line)
			}
		} else if status, ok := statusOf(e.Action); ok {
			t.Status, t.Duration = status, time.Duration(e.Elapsed*float64(time.Second))
		}
	}
	var failures, skipped []string
	for i := range r.Tests {
		t := &r.Tests[i]
		r.Duration += t.Duration
		switch t.Status {
		case "":
			t.Status = result.StepFailed
			t.Output = append(t.Output, "the test did not end: its process ended first")
			failures = append(failures, t.Name)
		case result.StepFailed:
			failures = append(failures, t.Name)
		case result.StepSkipped:
			skipped = append(skipped, t.Name)
		}
	}
	switch {
	case len(r.Tests) == 0:
		r.Status, r.Message = result.StepFailed, "no test ran"
	case len(failures) > 0:
		r.Status = result.StepFailed
		r.Message = fmt.Sprintf("%d of %d checks failed: %s", len(failures), len(r.Tests), strings.Join(failures, ", "))
	case r.Status == result.StepFailed:
		r.Message = "every test passed, and the test binary failed"
	case len(skipped) == len(r.Tests):
		r.Status, r.Message = result.StepSkipped, fmt.Sprintf("all %d checks were skipped", len(skipped))
	default:
		r.Message = fmt.Sprintf("%d of %d checks passed", len(r.Tests)-len(skipped), len(r.Tests))
	}
	if r.Status == result.StepFailed && len(around) > 0 && len(failures) != len(r.Tests) || len(r.Tests) == 0 && len(around) > 0 {
		r.Message += ": " + strings.Join(around[:min(3, len(around))], "; ")
	}
	return r
}

// StoreResults writes the results of phases to a ConfigMap, as JSON under the key result.json. A
// ConfigMap takes 1 MiB: if the results are larger, the output of tests is cut, the longest first,
// and says so.
func (d *Deployer) StoreResults(ctx context.Context, configMap string, results []*ValidationResult) error {
	data, err := fit(results, mostMap-(16<<10)) // the rest is for the object around it
	if err != nil {
		return err
	}
	return d.putMap(ctx, configMap, resultKey, data)
}

// fit marshals results to at most so many bytes. It does not change them.
func fit(results []*ValidationResult, most int) ([]byte, error) {
	for limit := 1 << 30; ; limit /= 2 {
		data, err := json.Marshal(cut(results, limit))
		if err != nil {
			return nil, fmt.Errorf("write down the results of validation: %w", err)
		}
		if len(data) <= most {
			return data, nil
		}
		if limit == 0 {
			return nil, fmt.Errorf("the results of validation have %d bytes without any output, and a ConfigMap takes %d", len(data), mostMap)
		}
		if longest := longestOutput(results); limit > longest {
			limit = 2 * longest
		}
	}
}

func longestOutput(results []*ValidationResult) int {
	most := 0
	for _, r := range results {
		for _, t := range r.Tests {
			most = max(most, size(t.Output))
		}
	}
	return most
}

func size(lines []string) int {
	n := 0
	for _, l := range lines {
		n += len(l) + 1
	}
	return n
}

// cut gives copies whose tests have at most so many bytes of output each.
func cut(results []*ValidationResult, limit int) []*ValidationResult {
	var all []*ValidationResult
	for _, r := range results {
		c := *r
		c.Tests = slices.Clone(r.Tests)
		for i := range c.Tests {
			t := &c.Tests[i]
			if size(t.Output) <= limit {
				continue
			}
			var kept []string
			left := limit
			for _, line := range t.Output {
				if left -= len(line) + 1; left < 0 {
					break
				}
				kept = append(kept, line)
			}
			t.Output = append(kept, fmt.Sprintf("(%d more lines were cut, for the size of a ConfigMap)", len(t.Output)-len(kept)))
		}
		all = append(all, &c)
	}
	return all
}
