package everyday

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A workload that runs on is no hook of Argo CD's (F159). A Job is one.
func TestFind_Phased(t *testing.T) {
	of := func(head, phase string) *bundle.Expectation {
		return &bundle.Expectation{Objects: []bundle.Object{{Component: "c", Object: testkit.Parsed(t, "{"+head+", metadata: {namespace: x, name: w, annotations: {argocd.argoproj.io/hook: "+phase+"}}, spec: {selector: {matchLabels: {app: w}}}}")}}}
	}
	const deployment = "apiVersion: apps/v1, kind: Deployment"
	found := Find(of(deployment, "PostSync"), Cluster{})
	check(t, found, "has argocd.argoproj.io/hook: PostSync, and is an ordinary object to Helm and Flux")
	if len(found) == 1 && found[0].Then != "Argo CD deletes it at each sync and creates it again, by default, and does not miss it in between" {
		t.Errorf("got %q", found[0].Then)
	}
	found = Find(of(deployment, "SyncFail"), Cluster{})
	check(t, found, "has argocd.argoproj.io/hook: SyncFail")
	if len(found) == 1 && found[0].Then != "Argo CD does not create it when a sync succeeds" {
		t.Errorf("got %q", found[0].Then)
	}
	check(t, Find(of(deployment, "Skip"), Cluster{}), "")
	check(t, Find(of("apiVersion: batch/v1, kind: Job", "PostSync"), Cluster{}), "")
}
