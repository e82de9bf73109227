package argocd

import (
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
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

// An object that left the recipe and asks not to be pruned makes an Application OutOfSync for ever. That
// is no reason to wait for one whose health would be accepted; anything else that differs is.
func TestKeptResources(t *testing.T) {
	for name, tc := range map[string]struct {
		health, resources string
		want              lane.ItemState
	}{
		"kept, degraded":    {"Degraded", `{kind: HorizontalPodAutoscaler, name: b, status: Synced}, {kind: ConfigMap, name: kept, status: OutOfSync, requiresPruning: true}`, lane.ItemAccepted},
		"kept, progressing": {"Progressing", `{kind: ConfigMap, name: kept, status: OutOfSync, requiresPruning: true}`, lane.ItemAccepted},
		"kept, missing":     {"Missing", `{kind: ConfigMap, name: kept, status: OutOfSync, requiresPruning: true}`, lane.ItemWaiting},
		"another too":       {"Degraded", `{kind: ConfigMap, name: kept, status: OutOfSync, requiresPruning: true}, {kind: ConfigMap, name: other, status: OutOfSync}`, lane.ItemWaiting},
		"none":              {"Degraded", `{kind: ConfigMap, name: same, status: Synced}`, lane.ItemWaiting},
	} {
		app := testkit.Parsed(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: b}, status: {sync: {status: OutOfSync}, health: {status: `+tc.health+`}, operationState: {phase: Succeeded}, resources: [`+tc.resources+`]}}`)
		if got := applicationItem("b", app, false).State; got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
