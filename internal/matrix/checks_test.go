package matrix

import (
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
	"github.com/nvidia/aicr-action/internal/verify/chainsaw"
)

// What is wrong with a check is found with the plan, and only if checks are wanted.
func TestPlan_HealthChecks(t *testing.T) {
	registry, err := aicraction.Recipes.ReadFile("recipes/registry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(registry), "\n")
	var without []string
	for _, line := range lines {
		if line != "    healthCheck:" && !strings.HasPrefix(line, "      assertFile:") {
			without = append(without, line)
		}
	}
	one := strings.Replace(strings.Join(without, "\n"), "    displayName: cert-manager\n", "    displayName: cert-manager\n    healthCheck: {assertFile: checks/cert-manager/health-check.yaml}\n", 1)
	for name, c := range map[string]struct {
		file, content string
		checks        bool
		want          string // of the error
		has, lacks    int    // components
	}{
		"shipped":               {"registry.yaml", string(registry), true, "", 14, 0},
		"not wanted":            {"checks/cert-manager/health-check.yaml", "a: [", false, "", 0, 0},
		"does not parse":        {"checks/cert-manager/health-check.yaml", "kind: Test\n", true, "recipes/checks/cert-manager/health-check.yaml:1: it is", 0, 0},
		"reads a variable":      {"checks/cert-manager/health-check.yaml", readsVariable, true, "recipes/checks/cert-manager/health-check.yaml:9: assert: expression (base64_encode(env('HOME'))) calls env, which health checks may not call", 0, 0},
		"reads a Secret":        {"checks/cert-manager/health-check.yaml", strings.Replace(readsVariable, "kind: Pod", "kind: Secret", 1), true, "recipes/checks/cert-manager/health-check.yaml:9: assert: a health check may not read Secrets", 0, 0},
		"one component has one": {"registry.yaml", one, true, "", 1, 13},
		"no component has one":  {"registry.yaml", strings.Join(without, "\n"), true, "recipe eks-training: no component has a health check", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := unitRunner(t)
			r.Store, r.Checks = withFile(t, c.file, c.content), c.checks
			plans, err := r.Plan("eks-training", bundle.Deployers()[:1])
			if c.want != "" {
				if err == nil || reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %v, want %s with %q", err, reason.Usage, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := plans[0].checks; len(got.list) != c.has || len(got.without) != c.lacks {
				t.Errorf("%d components have a check, %d have none (%q); want %d and %d", len(got.list), len(got.without), got.without, c.has, c.lacks)
			}
		})
	}
}

const readsVariable = `apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {name: cert-manager}
spec:
  steps:
    - name: pods
      try:
        - assert:
            resource: {apiVersion: v1, kind: Pod, status: {phase: "(base64_encode(env('HOME')))"}}
`

func TestCheckFinding(t *testing.T) {
	f := checkFinding([]chainsaw.Failure{
		{Component: "a", File: "a.yaml", Line: 3, Step: "pods", Operation: "assert Pod x", Why: []string{"it differs", "-  b", "+  c"}},
		{Component: "b", File: "b.yaml", Line: 4, Step: "pods", Operation: "error Pod", Why: []string{"Pod y is what must not be"}},
	})
	testkit.WantText(t, "cause", f.Cause(), "health check of a, step pods: assert Pod x: it differs (a.yaml:3) (and 1 more)")
	testkit.WantEach(t, "details", f.Details(), []string{"health check of a", "  -  b", "  +  c", "health check of b, step pods: error Pod: Pod y is what must not be (b.yaml:4)"})
}

func TestCheckBudget(t *testing.T) {
	for used, want := range map[time.Duration]time.Duration{0: 60 * time.Second, 90 * time.Second: 30 * time.Second, time.Hour: 5 * time.Second} {
		c := &cellRun{env: &lane.Env{Bundle: &bundle.Bundle{}}, lane: &lanetest.Lane{Sync: 120 * time.Second}, result: result.Result{Phases: []result.Phase{{Name: "deploy", Duration: time.Hour}, {Name: "sync", Duration: used}}}}
		if got := c.checkBudget(); got != want {
			t.Errorf("sync took %s of 120 s: got %s, want %s", used, got, want)
		}
	}
}
