package result

import (
	"errors"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A value that Helm or the API server quotes as a whole does not fill the terminal: a line of a
// verdict keeps its first and last words.
func TestVerdictOf_Long(t *testing.T) {
	long := "begins " + strings.Repeat("ä", 50000) + " ends"
	f := NewFailure(Finding{Cause: long, Story: []string{long, "short"}})
	for name, err := range map[string]error{
		"a failure": &reason.Error{Reason: reason.DeployFailed, Err: f},
		"an error":  errors.New(long + "\n" + long + "\nshort"),
	} {
		v := VerdictOf(err)
		for _, text := range []string{v.Cause, v.Details[0], v.Findings[0].Cause, v.Findings[0].Story[0]} {
			if len(text) > longest || !strings.HasPrefix(text, "begins ") || !strings.HasSuffix(text, " ends") || !strings.Contains(text, "bytes left out") || strings.ToValidUTF8(text, "?") != text {
				t.Errorf("%s: got %d bytes: %.80s", name, len(text), text)
			}
		}
		if v.Details[1] != "short" {
			t.Errorf("%s: details %.80q", name, v.Details)
		}
	}
	if f.Findings[0].Cause != long || f.Findings[0].Story[0] != long {
		t.Error("the error itself was changed")
	}
}

// Of a whole object that the API server quotes, the report has the path and the reason: those of a Job's
// template were thousands of bytes apart.
func TestVerdictOf_Dumped(t *testing.T) {
	object := `{"labels":{"a":"}}{ \" "},"Spec":{"Volumes":null,"Containers":["` + strings.Repeat("x", 900) + `"]}}`
	for said, want := range map[string]string{
		`Job.batch "m" is invalid: spec.template: Invalid value: ` + object + `: field is immutable`:                                                                         `Job.batch "m" is invalid: spec.template: Invalid value: {… (966 bytes left out)}: field is immutable`,
		`[spec.selector: Invalid value: v1.LabelSelector` + object + `: field is immutable, spec.x: Invalid value: 5: must be 6, spec.y: Invalid value: ` + object + `: no]`: `[spec.selector: Invalid value: v1.LabelSelector{… (966 bytes left out)}: field is immutable, spec.x: Invalid value: 5: must be 6, spec.y: Invalid value: {… (966 bytes left out)}: no]`,
		`spec.x: Invalid value: {"a":"b"}: ` + strings.Repeat("why, ", 200) + "why":                                                                                          `spec.x: Invalid value: {"a":"b"}: ` + strings.Repeat("why, ", 200) + "why",
		`spec.x: Invalid value: {"a": ` + strings.Repeat("never closed ", 100) + `: why`:                                                                                     `spec.x: Invalid value: {"a": ` + strings.Repeat("never closed ", 100) + `: why`,
	} {
		if got := VerdictOf(reason.New(reason.DeployFailed, "%s", said)).Cause; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
