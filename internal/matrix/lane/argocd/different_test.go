package argocd

import (
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// An Application that is OutOfSync names the objects that Argo CD finds different.
func TestOutOfSyncResources(t *testing.T) {
	app := testkit.Parsed(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: b}, status: {sync: {status: OutOfSync}, health: {status: Healthy}, operationState: {phase: Succeeded}, resources: [
		{kind: ConfigMap, version: v1, namespace: b, name: same, status: Synced},
		{group: apps, kind: Deployment, version: v1, namespace: b, name: web, status: OutOfSync}]}}`)
	got := applicationItem("b", app, false).Different
	if want := []result.Ref{{Group: "apps", Kind: "Deployment", Namespace: "b", Name: "web"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
