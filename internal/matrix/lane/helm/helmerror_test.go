package helm

import (
	"errors"
	"testing"
)

// The error of the API server comes first, not the head of a list (faults F37).
func TestHelmError(t *testing.T) {
	for text, want := range map[string]string{
		"1 error occurred:\n\t* DaemonSet.apps \"x\" is invalid: privileged\n\n":          "DaemonSet.apps \"x\" is invalid: privileged",
		"2 errors occurred:\n\t* a is invalid\n\t* b is invalid\n\n":                      "a is invalid\nb is invalid",
		"failed pre-install: 1 error occurred:\n\t* job failed: BackoffLimitExceeded\n\n": "failed pre-install: job failed: BackoffLimitExceeded",
		"timed out waiting for the condition":                                             "timed out waiting for the condition",
	} {
		if got := helmError(errors.New(text)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
