package result

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestStatusWords holds the words that kwok-results.json has (docs/results.md).
func TestStatusWords(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{Check{Status: StepPassed}, "passed"}, {Check{Status: StepFailed}, "failed"}, {Check{Status: StepSkipped}, "skipped"},
		{ChaosStep{Status: StepPassed}, "done"}, {ChaosStep{Status: StepFailed}, "failed"}, {ChaosStep{Status: StepNotRun}, "not run"},
		{Chaos{Steps: []ChaosStep{{Status: StepPassed}}}, "done"},
		{Verdict{Status: Passed}, "passed"}, {Verdict{Status: Reused}, "reused"}, {Verdict{Status: Failed}, "failed"}, {Verdict{Status: Timeout}, "timeout"},
		{Verdict{Status: Infrastructure}, "infrastructure"}, {Verdict{Status: Interrupted}, "interrupted"}, {Verdict{Status: Skipped}, "skipped"}, {Verdict{Status: NotRun}, "not run"},
	} {
		data, err := json.Marshal(tt.value)
		if err != nil || !strings.Contains(string(data), `"status":"`+tt.want+`"`) {
			t.Errorf("%T: want the status %q, got %s, %v", tt.value, tt.want, data, err)
		}
	}
}

// TestChaosStepJSON reads a step back as it was, with the fields beside its status.
func TestChaosStepJSON(t *testing.T) {
	for _, status := range []StepStatus{StepPassed, StepFailed, StepNotRun} {
		want := ChaosStep{Name: "a", Action: "drain", Line: 3, Status: status, Did: "1 node drained", Took: 5, Whole: 2, Hurt: []Survivor{{State: Lost, Want: 1}}}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got ChaosStep
		if err := json.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("want %+v, got %+v, %v", want, got, err)
		}
	}
	var broken ChaosStep
	if err := json.Unmarshal([]byte(`{"line": "three"}`), &broken); err == nil {
		t.Error("a line that is no number is read")
	}
}
