package matrix

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// The requirements of a phase are planned before a process starts, and only with --validate.
// Without it, constraints on parts that a cell does not have are remarks.
func TestPlanValidation(t *testing.T) {
	const overlay = "apiVersion: aicr.run/v1beta1\nkind: RecipeMetadata\nmetadata: {name: eks}\nspec:\n  criteria: {service: eks}\n  constraints: [{name: OS.release.ID, value: ubuntu}]\n"
	plan := func(text string, phases ...validate.Phase) (Plan, error) {
		r := unitRunner(t)
		r.Store, r.Validate = withFile(t, "overlays/eks.yaml", text), phases
		plans, err := r.Plan("eks", bundle.Deployers()[:1])
		if err != nil {
			return Plan{}, err
		}
		return plans[0], nil
	}
	p, err := plan(overlay)
	if err != nil || p.validation != nil || !strings.Contains(strings.Join(p.notes, "\n"), "constraint OS.release.ID ubuntu is not evaluated") {
		t.Errorf("not wanted: got %v, %q, %v", p.validation, p.notes, err)
	}
	p, err = plan(overlay, validate.Readiness)
	if err != nil || p.validation.Count() != 2 || strings.Contains(strings.Join(p.notes, "\n"), "OS.release.ID") {
		t.Errorf("readiness: got %v, %q, %v", p.validation, p.notes, err)
	}
	for name, c := range map[string]struct {
		text, want string
		phase      validate.Phase
	}{
		"nothing to check": {overlay, "recipe eks has no constraints and no checks for these phases, so --validate would check nothing", validate.Conformance},
		"no list":          {overlay + "  validation:\n    conformance: {checks: x}\n", "recipes/overlays/eks.yaml:8: validation.conformance.checks must be a list", validate.Conformance},
	} {
		if _, err := plan(c.text, c.phase); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// What the profile says is marked as simulated, so that no message takes it for measured.
func TestSimulatedReadings(t *testing.T) {
	groups, err := simulate.ChooseProfiles(unitRunner(t).Profiles, "eks", "h100", simulate.DefaultNodeGroups(2, 4))
	if err != nil {
		t.Fatal(err)
	}
	s := &snapshot.Snapshot{Measurements: simulatedReadings(groups)}
	if v, ok := s.Value("GPU.driver.version"); !ok || v != "570.86.16" {
		t.Errorf("got %q, %v", v, ok)
	}
	for _, path := range []string{"GPU.driver.version", "GPU.smi.gpu-count"} {
		if got := s.ContextOf(path)[validate.Simulated]; got != "node profile eks-h100" {
			t.Errorf("%s: got %q", path, got)
		}
	}
	if _, ok := s.Value("OS.release.ID"); ok {
		t.Error("no profile says what the operating system is")
	}
	if got := simulatedReadings(simulate.DefaultNodeGroups(2, 0)); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestValidationFinding(t *testing.T) {
	if validationFinding([]result.Check{{Status: result.StepPassed}, {Status: result.StepSkipped}}) != nil {
		t.Error("nothing failed")
	}
	v := result.VerdictOf(&reason.Error{Reason: reason.ValidationFailed, Err: validationFinding([]result.Check{
		{Phase: "readiness", Name: "a", Status: result.StepPassed},
		{Phase: "deployment", Name: "operator-health", Status: result.StepFailed, Message: "x is not ready (and 1 more)", Component: "gpu-operator", Place: result.Place{File: "recipes/overlays/base.yaml", Line: 82}, Details: []string{"x is not ready", "y is not ready"}},
		{Phase: "deployment", Name: "b", Status: result.StepFailed, Message: "no"},
	})})
	want := []result.Finding{{
		Cause: "validation deployment/operator-health: x is not ready (and 1 more) (and 1 more)", Component: "gpu-operator", Place: result.Place{File: "recipes/overlays/base.yaml", Line: 82},
		Story: []string{"deployment/operator-health: x is not ready (and 1 more); component gpu-operator (recipes/overlays/base.yaml:82)", "  x is not ready", "  y is not ready", "deployment/b: no"},
	}}
	if v.Status != result.Failed || !reflect.DeepEqual(v.Findings, want) {
		t.Errorf("got %+v", v.Findings)
	}
}
