package agent

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

// TestActions holds the words in the JSON of results, and that they are read back.
func TestActions(t *testing.T) {
	for status, want := range map[result.StepStatus]string{result.StepPassed: "pass", result.StepFailed: "fail", result.StepSkipped: "skip"} {
		r := ValidationResult{Phase: "deployment", Status: status, Tests: []TestResult{{Name: "TestA", Status: status, Output: []string{"a"}}}}
		data, err := json.Marshal([]*ValidationResult{&r})
		if err != nil || strings.Count(string(data), `"status":"`+want+`"`) != 2 {
			t.Errorf("want the status %q twice, got %s, %v", want, data, err)
		}
		var got []*ValidationResult
		if err := json.Unmarshal(data, &got); err != nil || len(got) != 1 || !reflect.DeepEqual(*got[0], r) {
			t.Errorf("want %+v, got %+v, %v", r, got, err)
		}
	}
	var got ValidationResult
	if err := json.Unmarshal([]byte(`{"status": "passed"}`), &got); err != nil || got.Status != result.StepFailed {
		t.Errorf("a word that is no action: got %q, %v", got.Status, err)
	}
}
