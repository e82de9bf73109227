package agent

import (
	"encoding/json"

	"github.com/nvidia/aicr-action/internal/result"
)

// The actions by which `go test -json` reports how a test ended. They are also the statuses in the
// JSON of results.
const (
	passAction = "pass"
	failAction = "fail"
	skipAction = "skip"
)

// actionOf is a status as `go test -json` calls it. What did not pass and was not skipped has failed.
func actionOf(s result.StepStatus) string {
	switch s {
	case result.StepPassed:
		return passAction
	case result.StepSkipped:
		return skipAction
	}
	return failAction
}

// statusOf is the status that an action stands for; false for an action that ends no test.
func statusOf(action string) (result.StepStatus, bool) {
	switch action {
	case passAction:
		return result.StepPassed, true
	case failAction:
		return result.StepFailed, true
	case skipAction:
		return result.StepSkipped, true
	}
	return "", false
}

// MarshalJSON writes the status as an action.
func (t TestResult) MarshalJSON() ([]byte, error) {
	type fields TestResult
	t.Status = result.StepStatus(actionOf(t.Status))
	return json.Marshal(fields(t))
}

// UnmarshalJSON reads what MarshalJSON writes. A status that is no action counts as failed.
func (t *TestResult) UnmarshalJSON(data []byte) error {
	type fields TestResult
	err := json.Unmarshal(data, (*fields)(t))
	t.Status = read(t.Status)
	return err
}

// MarshalJSON writes the status as an action.
func (r ValidationResult) MarshalJSON() ([]byte, error) {
	type fields ValidationResult
	r.Status = result.StepStatus(actionOf(r.Status))
	return json.Marshal(fields(r))
}

// UnmarshalJSON reads what MarshalJSON writes. A status that is no action counts as failed.
func (r *ValidationResult) UnmarshalJSON(data []byte) error {
	type fields ValidationResult
	err := json.Unmarshal(data, (*fields)(r))
	r.Status = read(r.Status)
	return err
}

// read is the status of a result whose JSON has an action in its place.
func read(action result.StepStatus) result.StepStatus {
	if s, ok := statusOf(string(action)); ok {
		return s
	}
	return result.StepFailed
}
