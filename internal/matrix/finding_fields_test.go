package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/checks"
	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// outlineOf is a finding without its sentences: object, others, component, place.
func outlineOf(f *result.Finding) string {
	parts := []string{"-"}
	if f.Object != nil {
		parts[0] = f.Object.String()
	}
	for _, o := range f.Others {
		parts = append(parts, "+ "+o.String())
	}
	if f.Component != "" {
		parts = append(parts, "("+f.Component+")")
	}
	if f.Place.File != "" {
		parts = append(parts, f.Place.String())
	}
	return strings.Join(parts, " ")
}

// Whatever makes a cell fail says what is wrong as fields, and cause and details are made of the same finding.
func TestFindingFields(t *testing.T) {
	releases := []bundle.Release{{Name: "web", Component: "web-stack"}, {Name: "db", Component: "db"}}
	release := func(name string, s ItemState, text string) Item {
		return Item{ID: "HelmRelease " + name, Ref: fluxRef(kindHelmRelease, name), State: s, Text: text}
	}
	g := newGate(testEnv(fake.NewClientset(), bundle.Expectation{Releases: releases}), &fakeLane{}, Budgets{}, Deadline{}, func(string) {})
	_, failed := g.failedItems(LaneState{Items: []Item{
		release("web", ItemFailed, "install failed\nline two"), release("db", ItemFailed, "the same"), release("x", ItemBlocked, ""),
	}})
	widget := missingObject{result.Ref{Group: "example.com", Kind: "Widget", Namespace: "ns", Name: "w"}, "web-stack", "t.yaml"}
	two := []missingObject{widget, {result.Ref{Kind: "Service", Namespace: "ns", Name: "s"}, "db", "s.yaml"}}
	late := newGate(testEnv(fake.NewClientset(), bundle.Expectation{}), &fakeLane{}, Budgets{}, Deadline{}, func(string) {})
	slow, slower := expected("Deployment", "slow", 1, sys), expected("Job", "slower", 1, sys)
	late.lastLook = workloadReport{pods: 1, waiting: []waitingWorkload{{&slow, "0 of 1 pods as they should be"}, {&slower, "not complete yet"}}}
	results := compareAll(t, []comparedLane{lanePassed("a", "helm", taken(t, deploymentYAML(1))), lanePassed("a", "flux-oci", taken(t, deploymentYAML(2)))})
	origin := recipe.Origin{File: "recipes/overlays/eks.yaml", Line: 7}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"items that failed":  {failed, "HelmRelease.helm.toolkit.fluxcd.io flux-system/web + HelmRelease.helm.toolkit.fluxcd.io flux-system/db (web-stack)"},
		"missing objects":    {missingFinding(two[0], two, "gone"), "Widget.example.com ns/w + Service ns/s (web-stack)"},
		"pods that are late": {late.podsTimedOut(time.Minute), "Deployment ns/slow + Job ns/slower (comp)"},
		"records that differ": {mismatch(
			[]delivery{helmDelivery("ns", "a", "a", "1", "deployed"), delivered(fluxRef(kindHelmRelease, "b"), fact{"version", "1"}, fact{"status", "deployed"})}, nil,
		), "Helm release ns/a + HelmRelease.helm.toolkit.fluxcd.io flux-system/b"},
		"checks": {checkFinding([]checks.Failure{{Component: "web", File: "recipes/checks/web.yaml", Line: 3}}), "- (web) recipes/checks/web.yaml:3"},
		"an error that knows its line": {
			reason.Wrap(reason.BundleFailed, fmt.Errorf("make the bundle: %w", &bundle.ComponentError{Component: "web", Origin: origin, Problem: "bad"})), "- recipes/overlays/eks.yaml:7",
		},
		"a chart that does not render": {reason.Wrap(reason.BundleFailed, &bundle.RenderError{Component: "web", Origin: origin, Err: errors.New("bad")}), "- recipes/overlays/eks.yaml:7"},
		"any error":                    {errors.New("surprise\nlog"), "-"},
	} {
		v := verdictOf(tc.err)
		if len(v.Findings) != 1 || outlineOf(&v.Findings[0]) != tc.want {
			t.Errorf("%s: got %q, want %q", name, outlineOf(&v.Findings[0]), tc.want)
			continue
		}
		if v.Cause != v.Findings[0].Cause || !slices.Equal(v.Details, v.Findings[0].Story) {
			t.Errorf("%s: cause and details say something else than the finding: %+v", name, v)
		}
	}
	if got := outlineOf(&results[1].Findings[0]); got != "Deployment ns/web" {
		t.Errorf("lanes that differ: got %q", got)
	}
	if v := verdictOf(nil); v.Findings != nil {
		t.Errorf("a pass has findings: %+v", v.Findings)
	}
	if v := verdictOf(failed); v.Cause != "HelmRelease web: install failed (and 1 more)" || v.Details[0] != "HelmRelease web: install failed\nline two" {
		t.Errorf("got %q, %q", v.Cause, v.Details)
	}
}

// A finding that has neither object nor place leaves them out of the JSON.
func TestFindingJSON(t *testing.T) {
	raw, err := json.Marshal(verdictOf(errors.New("surprise")))
	if err != nil || !strings.HasSuffix(string(raw), `"findings":[{"cause":"surprise"}]}`) {
		t.Errorf("got %s, %v", raw, err)
	}
}

// A line that sets a value is named before one that only declares the component, and a place without a line is none.
func TestPlaceOfSources(t *testing.T) {
	at := func(line int, set bool) source { return source{result.Place{File: "f.yaml", Line: line}, set} }
	for want, all := range map[int][]source{0: {at(0, true)}, 1: {at(1, false), at(2, false)}, 3: {at(0, true), at(1, false), at(3, true), at(4, true)}} {
		if got := placeOf(all); got.Line != want {
			t.Errorf("%v: got line %d, want %d", all, got.Line, want)
		}
	}
}
