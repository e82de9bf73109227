package matrix

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Two releases that want one object differently: no Helm release records whose it is, and the API
// server refuses the second.
func TestHelmTemplateConflict(t *testing.T) {
	t.Parallel()
	got := smallRun(t, func(r *Runner) []Plan {
		const deployment, theirs = "apiVersion: apps/v1\nkind: Deployment\n", "apiVersion: v1\nkind: Service\nmetadata: {name: ports, namespace: extras}\nspec: {type: ClusterIP, ports: [{port: 80}]}\n---\n"
		return plansOf(t, r, "plain", edited{deployers(t, bundle.HelmTemplate)[0], deployment, theirs + deployment})
	})
	res := got["plain/helm-template"]
	testkit.WantText(t, "cause", res.Cause, "Release web: apply Service extras/ports: ", "conflict", bundle.TemplateManager("extras"), "spec.type")
	if res.Status != result.Failed || res.Stage != result.StageApply {
		t.Errorf("got %s at %q, want it failed at %q", res.Status, res.Stage, result.StageApply)
	}
}
