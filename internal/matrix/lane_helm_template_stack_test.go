package matrix

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// Two releases that want one object differently: no Helm release records whose it is, and the API server refuses the second.
func TestHelmTemplateConflict(t *testing.T) {
	got := smallRun(t, func(r *Runner) []Plan {
		const service, theirs = "apiVersion: v1\nkind: Service\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: web}\ndata: {limit: \"8\"}\n---\n"
		return plansOf(t, r, "plain", edited{deployers(t, bundle.HelmTemplate)[0], service, theirs + service})
	})
	res := got["plain/helm-template"]
	wantText(t, "cause", res.Cause, "Release extras: apply ConfigMap web/web: ", "conflict", bundle.TemplateManager("web"), "data.limit")
	if res.Status != Failed || res.Stage != StageApply {
		t.Errorf("got %s at %q, want it failed at %q", res.Status, res.Stage, StageApply)
	}
}
