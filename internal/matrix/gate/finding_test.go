package gate

import (
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// Every failure of the gate has its details in fields.
func TestGateFindingFields(t *testing.T) {
	releases := []bundle.Release{{Name: "web", Component: "web-stack"}, {Name: "db", Component: "db"}}
	release := func(name string, s lane.ItemState, text string) lane.Item {
		ref := result.Ref{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: "flux-system", Name: name}
		return lane.Item{ID: "HelmRelease " + name, Ref: ref, State: s, Text: text}
	}
	g := New(lanetest.Env(fake.NewClientset(), bundle.Expectation{Releases: releases}), &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
	_, failed := g.failedItems(lane.State{Items: []lane.Item{
		release("web", lane.ItemFailed, "install failed\nline two"), release("db", lane.ItemFailed, "the same"), release("x", lane.ItemBlocked, ""),
	}})
	late := New(lanetest.Env(fake.NewClientset(), bundle.Expectation{}), &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
	slow, slower := testkit.Expected("Deployment", "slow", 1, testkit.Sys), testkit.Expected("Job", "slower", 1, testkit.Sys)
	late.lastReport = observe.WorkloadReport{Pods: 1, Waiting: []observe.WaitingWorkload{{Workload: &slow, Text: "0 of 1 pods as expected"}, {Workload: &slower, Text: "not complete yet"}}}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"items that failed":  {failed, "HelmRelease.helm.toolkit.fluxcd.io flux-system/web + HelmRelease.helm.toolkit.fluxcd.io flux-system/db (web-stack)"},
		"pods that are late": {late.podsTimedOut(time.Minute), "Deployment ns/slow + Job ns/slower (comp)"},
	} {
		testkit.WantOutline(t, name, tc.err, tc.want)
	}
	if v := result.VerdictOf(failed); v.Cause != "HelmRelease web: install failed (and 1 more)" || v.Details[0] != "HelmRelease web: install failed\nline two" {
		t.Errorf("got %q, %q", v.Cause, v.Details)
	}
}
