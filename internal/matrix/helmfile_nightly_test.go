//go:build nightly

package matrix

import (
	"path/filepath"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// helmfileRunner is a runner whose platform has helmfile, which it compiles unless it is in the cache.
func helmfileRunner(t *testing.T) *Runner {
	t.Helper()
	r := stackRunner(t)
	addHelmfile(t, r)
	return r
}

// TestNightlyHelmfile: eks-training passes through helmfile, with the objects of the helm lane.
func TestNightlyHelmfile(t *testing.T) {
	t.Parallel()
	r := helmfileRunner(t)
	plans := plansOf(t, r, "eks-training", deployers(t, bundle.Helm, bundle.Helmfile)...)
	infratest.Slots(t, 2)
	results, err := r.RunAll(t.Context(), plans, 2)
	if err != nil {
		t.Errorf("run both lanes: %v", err)
	}
	for i, res := range results {
		t.Run(plans[i].Cell.Deployer, func(t *testing.T) { checkGreen(t, r, plans[i], res) })
	}
}

// TestNightlyHelmfileFails: a release that Helm does not install is the cause, in Helm's own words,
// and so is a field that the API server drops. The log of helmfile is among the artifacts.
func TestNightlyHelmfileFails(t *testing.T) {
	t.Parallel()
	r := helmfileRunner(t)
	smallRecipes(t, r)
	infratest.Slots(t, 1)
	for _, c := range []struct{ old, new, cause, log string }{
		{"name: ports", "name: Not_A_Name", `Release extras: Service "Not_A_Name" is invalid: metadata.name: Invalid value`, "failed processing release extras"},
		{"spec: {type: NodePort,", "spec: {typo: x, type: NodePort,", `Release extras: unknown field "spec.typo" (the API server dropped it)`, "UPDATED"},
	} {
		results, err := r.RunAll(t.Context(), plansOf(t, r, "plain", edited{deployers(t, bundle.Helmfile)[0], c.old, c.new}), 1)
		if err != nil {
			t.Fatal(err)
		}
		res := results[0]
		if res.Status != result.Failed || res.Reason != reason.DeployFailed {
			t.Fatalf("%s: got %s, %s: %s", c.new, res.Status, res.Reason, res.Cause)
		}
		testkit.WantText(t, "cause", res.Cause, c.cause)
		logs, _ := filepath.Glob(filepath.Join(res.Artifacts, "*helmfile.log"))
		if len(logs) == 0 { // one per cell
			t.Fatalf("logs of helmfile: %q", logs)
		}
		testkit.WantText(t, logs[len(logs)-1], testkit.ReadFile(t, res.Artifacts, filepath.Base(logs[len(logs)-1])), c.log)
	}
}
