package main

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// A person reads where to stop, whether there is a way back, and which files are delivered around the move.
func TestUpgradeRow_Words(t *testing.T) {
	for stop, want := range map[string]string{"1.2.3": "stop at 1.2.3", "below 1.2.3": "stop below 1.2.3", "above 1.2.3": "stop above 1.2.3", "": ""} {
		if got := (&upgradeRow{stopAt: stop}).notes(); got != want {
			t.Errorf("%q: got %q, want %q", stop, got, want)
		}
	}
	row := upgradeRow{Reversible: "true", ReversibleNotes: "helm rollback", Hooks: []recipe.UpgradeHook{{File: "hooks/a.yaml", Phase: "pre"}, {File: "hooks/b.yaml"}}}
	for _, want := range []string{"  reversible: true (helm rollback)\n", "  hooks: hooks/a.yaml (pre), hooks/b.yaml (no phase)\n"} {
		if got := row.details("helm"); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
