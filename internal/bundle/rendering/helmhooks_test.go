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

// An upgrade keeps what says keep in these letters, an uninstall whatever has the annotation.
func TestKept(t *testing.T) {
	for value, upgrade := range map[string]bool{"keep": true, "Keep": false, " keep ": false, "retain": false, "": false} {
		annotations := map[string]string{HelmKeeps: value}
		if got := KeptAtUpgrade(annotations); got != upgrade {
			t.Errorf("%q: kept at an upgrade: %t", value, got)
		}
		if !KeptAtUninstall(annotations) {
			t.Errorf("%q: not kept at an uninstall", value)
		}
	}
	if KeptAtUpgrade(nil) || KeptAtUninstall(map[string]string{HelmHook: "test"}) {
		t.Error("kept without the annotation")
	}
}
