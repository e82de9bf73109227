package rendering

import (
	"slices"
	"testing"
)

// Hooks are read as Helm reads them: whole words, in any case, with any spaces.
func TestHelmHooks(t *testing.T) {
	annotations := map[string]string{HelmHook: " Post-Install ,post-upgrade,", HelmHookPolicy: "hook-succeeded, never"}
	if got := HelmHooks(annotations); !slices.Equal(got, []string{"post-install", "post-upgrade"}) {
		t.Errorf("phases: %q", got)
	}
	if got := HelmHookPolicies(annotations); !slices.Equal(got, []string{"hook-succeeded", "never"}) {
		t.Errorf("policies: %q", got)
	}
	if !RunsInHelm(annotations, "pre-install", "post-install") || RunsInHelm(annotations, "upgrade") || RunsInHelm(annotations, "pre-upgrade") || RunsInHelm(nil, "post-install") {
		t.Error("a phase is a whole word")
	}
}
