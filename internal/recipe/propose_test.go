package recipe

import (
	"slices"
	"strings"
	"testing"
)

// A proposed record is one that this program reads, of exactly the move: safe with its run, or manual
// with the step that failed.
func TestPropose(t *testing.T) {
	seen := UpgradeSeen{Component: "thing", From: "v1.0.0", To: "1.1.0", Passed: []string{"helm", "flux-oci"}, Run: "https://ci.example.com/runs/7", About: "simulated operators"}
	read := func(s UpgradeSeen) *UpgradeTransition {
		t.Helper()
		text, err := ProposeUpgrade(s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ReadUpgrades("upgrades.yaml", "thing", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return &r.Transitions[0]
	}
	safe := read(seen)
	if safe.Verdict != UpgradeSafe || safe.From.Text != "=1.0.0" || safe.To.Text != "=1.1.0" || safe.VerifiedBy != "KWOK run https://ci.example.com/runs/7 through helm, flux-oci; simulated operators" {
		t.Errorf("got %+v", safe)
	}
	seen.Failed = []SeenFailure{{"argocd", "upgrade", "UPGRADE_FAILED", "Deployment a: spec.selector: \"x\"\nsecond line: {{ y }}"}}
	manual := read(seen)
	if manual.Verdict != UpgradeManual || manual.VerifiedBy != "" || !strings.Contains(manual.Summary, "spec.selector") || !slices.Equal(manual.References, []string{seen.Run}) {
		t.Errorf("got %+v", manual)
	}
	if steps := manual.Steps("argocd"); len(steps) != 1 || !strings.Contains(steps[0].Description, "the step upgrade passes") || !strings.HasPrefix(steps[0].Reason, "UPGRADE_FAILED: Deployment a") {
		t.Errorf("argocd: got %+v", steps)
	}
	if steps := manual.Steps("helm"); len(steps) != 1 || !strings.Contains(steps[0].Description, "passed through: helm, flux-oci.") {
		t.Errorf("helm: got %+v", steps)
	}
	for want, change := range map[string]func(*UpgradeSeen){
		"no upgrade has shown the move":          func(s *UpgradeSeen) { s.Passed, s.Failed = nil, nil },
		"has no address":                         func(s *UpgradeSeen) { s.Run = "" },
		"1.1.0 is not newer than 2.0.0":          func(s *UpgradeSeen) { s.From = "2.0.0" },
		`"main" is not a version of three`:       func(s *UpgradeSeen) { s.To = "main" },
		"and 1.0.0 is not newer than v1.0.0":     func(s *UpgradeSeen) { s.To = "1.0.0" },
		`"1.1" is not a version of three number`: func(s *UpgradeSeen) { s.From = "1.1" },
	} {
		s := seen
		change(&s)
		if text, err := ProposeUpgrade(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\n%s", want, err, text)
		}
	}
}
