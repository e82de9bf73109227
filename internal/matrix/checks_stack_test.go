package matrix

import (
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
)

// withFile is the shipped recipes directory with one file replaced.
func withFile(t *testing.T, name, content string) *recipe.Store {
	t.Helper()
	files := shippedtest.Copy(t)
	if files[name] == nil {
		t.Fatalf("the shipped recipes have no %s", name)
	}
	files[name].Data = []byte(content)
	store, err := recipe.Open(files, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestHealthChecksOnTheStack: every shipped check holds on the simulated charts, and the jobs of
// the recipe's users are placed. A check that selects nothing fails, with component, file, line and
// step.
func TestHealthChecksOnTheStack(t *testing.T) {
	t.Parallel()
	t.Run("shipped", shippedChecks)
	t.Run("selects nothing", checkOfNothing)
}

func shippedChecks(t *testing.T) {
	t.Parallel()
	r := stackRunner(t)
	infratest.Slots(t, 1)
	r.Checks, r.Probes = true, true
	helm := bundle.Deployers()[:1]
	plans, err := r.Plan("h100-eks-ubuntu-training-kubeflow", helm)
	if err != nil {
		t.Fatal(err)
	}
	res := r.Run(t.Context(), plans[0])
	if res.Status != result.Passed {
		t.Errorf("shipped checks: got %s, %s: %s\n%s", res.Status, res.Reason, res.Cause, strings.Join(res.Details, "\n"))
	} else if res.Checks < 60 {
		t.Errorf("got %d checks, want those of 13 components", res.Checks)
	}
	for name, said := range map[string]string{
		"one-gpu": "1 pod on 1 node, by default-scheduler (the real one)", "full-nodes": "4 pods on 4 nodes, by default-scheduler (the real one)", "gang": "32 pods on 4 nodes, by default-scheduler (the real one)",
		"kai-queue":         "32 pods on 4 nodes, by kai-scheduler, simulated by kube-scheduler with its own rules; queue default-queue may have 32 GPUs, judged from the Queue objects, over the quota of queue default-queue",
		"kubeflow-trainjob": "4 pods on 4 nodes, by default-scheduler (the real one); Kubeflow Trainer is simulated: 4 pods of ClusterTrainingRuntime torch-distributed",
	} {
		wantProbe(name, said)(t, res)
	}
	for _, line := range append(append(res.HealthPolicy, res.Notes...), res.StandIns...) {
		t.Log(line)
	}
}

func checkOfNothing(t *testing.T) {
	t.Parallel()
	r := stackRunner(t)
	infratest.Slots(t, 1)
	r.Checks = true
	tiny := newTinyRecipe()
	tiny.only("a")
	tiny.part("a").check = `apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {name: a}
spec:
  steps:
    - name: pods
      try:
        - assert:
            resource:
              apiVersion: v1
              kind: Pod
              metadata: {labels: {app: misspelt}}
              status: {phase: Running}
`
	tiny.use(t, r)
	r.Budgets.Scheduling = stretched(20 * time.Second) // what the gate leaves of it is the budget of the check
	res := r.Run(t.Context(), plansOf(t, r, "tiny", bundle.Deployers()[0])[0])
	if res.Status != result.Failed || res.Reason != reason.CheckFailed {
		t.Fatalf("a check that selects nothing: got %s, %s: %s", res.Status, res.Reason, res.Cause)
	}
	testkit.WantText(t, "cause", res.Cause, "health check of a, step pods: assert Pod in namespace a with labels app=misspelt: it selects nothing", "checks/a/health-check.yaml:10")
}
