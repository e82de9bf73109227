package matrix

import (
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// Whatever the gate ends a cell with says what is wrong as fields.
func TestGateFindingFields(t *testing.T) {
	releases := []bundle.Release{{Name: "web", Component: "web-stack"}, {Name: "db", Component: "db"}}
	release := func(name string, s ItemState, text string) Item {
		ref := result.Ref{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: "flux-system", Name: name}
		return Item{ID: "HelmRelease " + name, Ref: ref, State: s, Text: text}
	}
	g := newGate(testEnv(fake.NewClientset(), bundle.Expectation{Releases: releases}), &fakeLane{}, Budgets{}, Deadline{}, func(string) {})
	_, failed := g.failedItems(LaneState{Items: []Item{
		release("web", ItemFailed, "install failed\nline two"), release("db", ItemFailed, "the same"), release("x", ItemBlocked, ""),
	}})
	late := newGate(testEnv(fake.NewClientset(), bundle.Expectation{}), &fakeLane{}, Budgets{}, Deadline{}, func(string) {})
	slow, slower := expected("Deployment", "slow", 1, sys), expected("Job", "slower", 1, sys)
	late.lastLook = workloadReport{pods: 1, waiting: []waitingWorkload{{&slow, "0 of 1 pods as they should be"}, {&slower, "not complete yet"}}}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"items that failed":  {failed, "HelmRelease.helm.toolkit.fluxcd.io flux-system/web + HelmRelease.helm.toolkit.fluxcd.io flux-system/db (web-stack)"},
		"pods that are late": {late.podsTimedOut(time.Minute), "Deployment ns/slow + Job ns/slower (comp)"},
	} {
		wantOutline(t, name, tc.err, tc.want)
	}
	if v := verdictOf(failed); v.Cause != "HelmRelease web: install failed (and 1 more)" || v.Details[0] != "HelmRelease web: install failed\nline two" {
		t.Errorf("got %q, %q", v.Cause, v.Details)
	}
}
