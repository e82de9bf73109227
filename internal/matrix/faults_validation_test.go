package matrix

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// validationFaults are recipes whose pods all run, and which do not include objects that their own
// validation requires.
func validationFaults() []fault {
	wanted := func(r *Runner) { r.Validate = []validate.Phase{validate.Deployment} }
	return []fault{
		{
			id: "F78", what: "a validation check of the recipe that does not hold once every pod runs, and one that holds", verdict: "fails with the check, the object, the component and the line that requires it; both checks were run",
			seeds: []seed{
				{name: "missing", lanes: []string{bundle.Helm}, runner: wanted, recipe: withExpected("[{kind: Deployment, name: a, namespace: a}, {kind: DaemonSet, name: forgotten, namespace: a}]"), want: outcomeWanted{reason: reason.ValidationFailed,
					cause: []string{"validation deployment/expected-resources: DaemonSet a/forgotten is missing"}, screen: []string{"overlays/tiny.yaml:"}, check: checked(1, 1)}},
				{name: "holds", nightly: []string{bundle.Helm}, runner: wanted, recipe: withExpected("[{kind: Deployment, name: a, namespace: a}]"), want: outcomeWanted{check: checked(2, 0)}},
			},
			tests: []string{"internal/matrix TestValidationFinding", "internal/matrix TestPlanValidation", "internal/verify/validate TestChecksFail"},
		},
		{
			id: "F79", what: "a check's Job that never starts, is evicted, prints no result or may not read what it needs; a phase of which no test ran", verdict: "fails, each with its own message; a Job without a result is not a pass, and nothing stays in the cluster",
			tests: []string{"internal/verify/validate/agent TestFailures", "internal/verify/validate/agent TestResults", "internal/verify/validate/agent TestOnTheRealStack"},
		},
	}
}

func withExpected(resources string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.only("a")
		r.part("a").expected = resources
		r.validation = "{deployment: {checks: [operator-health, expected-resources]}}"
	}
}

// checked: so many checks passed and failed; none was left out.
func checked(passed, failed int) func(*testing.T, result.Result) {
	return func(t *testing.T, r result.Result) {
		t.Helper()
		if p, f, skipped := result.CountChecks(r.Validation); p != passed || f != failed || skipped != 0 {
			t.Errorf("got %d passed, %d failed, %d skipped of %+v; want %d and %d", p, f, skipped, r.Validation, passed, failed)
		}
	}
}
