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
