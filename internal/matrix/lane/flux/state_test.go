package flux

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// fluxStatus is the status of a Flux object whose generation is 2.
func fluxStatus(observed int64, conditions ...map[string]any) map[string]any {
	list := make([]any, len(conditions))
	for i, c := range conditions {
		list[i] = c
	}
	status := map[string]any{"conditions": list}
	if observed != 0 {
		status["observedGeneration"] = observed
	}
	return status
}

func fluxCond(kind, status, reason, message string) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": int64(2)}
}

func fluxObject(kind, name string, status map[string]any) *unstructured.Unstructured {
	version := map[string]string{
		"OCIRepository": "source.toolkit.fluxcd.io/v1", "HelmChart": "source.toolkit.fluxcd.io/v1", "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
		"HelmRelease": "helm.toolkit.fluxcd.io/v2", "ArtifactGenerator": "source.extensions.fluxcd.io/v1beta1",
	}[kind]
	obj := map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name, "namespace": infra.FluxNamespace, "generation": int64(2)}}
	if status != nil {
		obj["status"] = maps.Clone(status) // the tests share them
	}
	return &unstructured.Unstructured{Object: obj}
}

func withHistory(status map[string]any, states ...string) map[string]any {
	out := maps.Clone(status)
	var history []any
	for _, s := range states {
		history = append(history, map[string]any{"status": s})
	}
	out["history"] = history
	return out
}

func applied(status map[string]any, revision string) map[string]any {
	out := maps.Clone(status)
	out["lastAppliedRevision"] = revision
	return out
}

func TestFluxItem(t *testing.T) {
	ready := fluxCond("Ready", "True", "ReconciliationSucceeded", "applied")
	notReady := fluxCond("Ready", "False", "HealthCheckFailed", "timeout waiting for Deployment")
	released := fluxCond("Released", "True", "InstallSucceeded", "installed")
	old := map[string]any{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "", "observedGeneration": int64(1)}
	stalled := fluxCond("Stalled", "True", "RetriesExceeded", "Failed to install after 1 attempt(s)")
	inProgress := fluxCond("Ready", "Unknown", "Progressing", "Reconciliation in progress")
	step := fluxCond("Reconciling", "True", "Progressing", "Building manifests for revision b with a timeout of 5m0s")
	tests := map[string]struct {
		kind   string
		status map[string]any
		want   lane.ItemState
		text   []string
	}{
		"ready":                                   {"HelmRelease", fluxStatus(2, ready), lane.ItemGood, []string{"applied"}},
		"ready for an old generation":             {"HelmRelease", fluxStatus(1, ready), lane.ItemWaiting, []string{"has not seen it"}},
		"no status":                               {"Kustomization", nil, lane.ItemWaiting, nil},
		"no condition":                            {"OCIRepository", fluxStatus(2), lane.ItemWaiting, []string{"Ready is Unknown"}},
		"generator ready, seen in its condition":  {"ArtifactGenerator", fluxStatus(0, ready), lane.ItemGood, nil},
		"generator ready for an old generation":   {"ArtifactGenerator", fluxStatus(0, old), lane.ItemWaiting, []string{"has not seen it"}},
		"generator without any status":            {"ArtifactGenerator", nil, lane.ItemWaiting, nil},
		"stalled":                                 {"HelmRelease", fluxStatus(2, stalled), lane.ItemFailed, []string{"RetriesExceeded: Failed to install"}},
		"stalled quotes what went wrong":          {"HelmRelease", fluxStatus(2, stalled, fluxCond("Ready", "False", "InstallFailed", "Prometheus is invalid: emptyDir")), lane.ItemFailed, []string{"InstallFailed: Prometheus is invalid"}},
		"stalled says the same twice":             {"Kustomization", fluxStatus(2, stalled, fluxCond("Ready", "False", "RetriesExceeded", "the same")), lane.ItemFailed, []string{"RetriesExceeded: Failed to install"}},
		"stalled outweighs released and deployed": {"HelmRelease", withHistory(fluxStatus(2, stalled, released, notReady), "deployed"), lane.ItemFailed, nil},
		"dependency not ready (F02, F09)":         {"HelmRelease", fluxStatus(2, fluxCond("Ready", "False", "DependencyNotReady", "dependency flux-system/a is not ready")), lane.ItemBlocked, []string{"DependencyNotReady"}},
		"source not ready":                        {"HelmRelease", fluxStatus(2, fluxCond("Ready", "False", "SourceNotReady", "no artifact")), lane.ItemBlocked, nil},
		"released and deployed, not ready":        {"HelmRelease", withHistory(fluxStatus(2, notReady, released), "deployed", "failed"), lane.ItemSuspect, []string{"Ready is False", "timeout waiting"}},
		"released, its newest release failed":     {"HelmRelease", withHistory(fluxStatus(2, notReady, released), "failed", "deployed"), lane.ItemSuspect, nil},
		"released without a history":              {"HelmRelease", fluxStatus(2, notReady, released), lane.ItemSuspect, nil},
		"deployed but not released":               {"HelmRelease", withHistory(fluxStatus(2, notReady, fluxCond("Released", "False", "UpgradeFailed", "")), "deployed"), lane.ItemSuspect, nil},
		"only a HelmRelease may be released":      {"Kustomization", withHistory(fluxStatus(2, notReady, released), "deployed"), lane.ItemSuspect, []string{"HealthCheckFailed"}},
		"failing from the first try on (F43)":     {"Kustomization", fluxStatus(-1, fluxCond("Ready", "False", "BuildFailed", "kustomize build failed")), lane.ItemSuspect, []string{"(BuildFailed): kustomize"}},
		"failed for an old generation":            {"Kustomization", fluxStatus(1, map[string]any{"type": "Ready", "status": "False", "reason": "BuildFailed", "message": "old", "observedGeneration": int64(1)}), lane.ItemWaiting, []string{"has not seen it"}},
		"blocked from the first try on (F43)":     {"HelmRelease", fluxStatus(-1, fluxCond("Ready", "False", "DependencyNotReady", "a is not ready")), lane.ItemBlocked, nil},
		"in progress":                             {"Kustomization", fluxStatus(2, fluxCond("Ready", "Unknown", "Progressing", "building")), lane.ItemWaiting, nil},
		"in progress, its step":                   {"Kustomization", fluxStatus(2, inProgress, step), lane.ItemWaiting, []string{"Building manifests for revision b"}},
		"in progress again (F53)":                 {"Kustomization", applied(fluxStatus(2, inProgress, step), "b"), lane.ItemBlocked, []string{"Building manifests for revision b"}},
		"in progress, applied something else":     {"Kustomization", applied(fluxStatus(2, inProgress, step), "a"), lane.ItemWaiting, nil},
		"fails again":                             {"Kustomization", applied(fluxStatus(2, fluxCond("Ready", "False", "BuildFailed", "no"), step), "b"), lane.ItemSuspect, nil},
		"in progress, not ready":                  {"HelmRelease", fluxStatus(2, fluxCond("Ready", "False", "Progressing", "installing")), lane.ItemWaiting, nil},
		"source on its way":                       {"Kustomization", fluxStatus(2, fluxCond("Ready", "False", "ArtifactFailed", "Source artifact not found, retrying")), lane.ItemWaiting, nil},
		"an error that may go away":               {"OCIRepository", fluxStatus(2, fluxCond("Ready", "False", "OCIArtifactPullFailed", "connection refused")), lane.ItemSuspect, []string{"OCIArtifactPullFailed", "connection refused"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := fluxItem(tc.kind, "x", fluxObject(tc.kind, "x", tc.status))
			if got.State != tc.want {
				t.Errorf("got %s (%s), want %s", lanetest.StateName(got.State), got.Text, lanetest.StateName(tc.want))
			}
			if got.ID != tc.kind+" x" {
				t.Errorf("id: got %q", got.ID)
			}
			testkit.WantText(t, "text", got.Text, tc.text...)
		})
	}
	if got := fluxItem("HelmRelease", "x", nil); got.State != lane.ItemWaiting || got.Text != "does not exist yet" {
		t.Errorf("missing: got %s (%s), want it to be waited for", lanetest.StateName(got.State), got.Text)
	}
}

// A HelmRelease whose chart cannot be fetched must name the chart, not the source that is not
// ready.
func TestChartOf(t *testing.T) {
	chart := func(c map[string]any) *unstructured.Unstructured {
		o := fluxObject("HelmChart", "flux-system-web", fluxStatus(2, c))
		o.Object["spec"] = map[string]any{"chart": "web", "version": "1.4.0"}
		return o
	}
	pullFailed := chart(fluxCond("Ready", "False", "ChartPullError", "manifest unknown"))
	waitsForChart := fluxStatus(2, fluxCond("Ready", "False", "SourceNotReady", "HelmChart is not ready"))
	stalled := fluxStatus(2, fluxCond("Stalled", "True", "RetriesExceeded", "gave up"))
	tests := map[string]struct {
		release map[string]any
		ref     string
		chart   *unstructured.Unstructured
		want    lane.ItemState
		text    []string
	}{
		"the chart cannot be pulled":        {waitsForChart, "flux-system/flux-system-web", pullFailed, lane.ItemSuspect, []string{"chart web 1.4.0: ChartPullError: manifest unknown"}},
		"the chart is on its way":           {waitsForChart, "flux-system/flux-system-web", chart(fluxCond("Ready", "False", "Progressing", "pulling")), lane.ItemBlocked, nil},
		"the chart's source is on its way":  {waitsForChart, "flux-system/flux-system-web", chart(fluxCond("Ready", "False", "NoSourceArtifact", "no artifact available")), lane.ItemBlocked, nil},
		"the chart is there":                {waitsForChart, "flux-system/flux-system-web", chart(fluxCond("Ready", "True", "ChartPullSucceeded", "")), lane.ItemBlocked, nil},
		"no chart yet":                      {waitsForChart, "flux-system/flux-system-web", nil, lane.ItemBlocked, nil},
		"a release with no chart":           {waitsForChart, "", pullFailed, lane.ItemBlocked, nil},
		"a good release of an earlier pull": {fluxStatus(2, fluxCond("Ready", "True", "Succeeded", "")), "flux-system/flux-system-web", pullFailed, lane.ItemGood, nil},
		"a release that failed by itself":   {stalled, "flux-system/flux-system-web", pullFailed, lane.ItemFailed, []string{"gave up"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			release := fluxObject("HelmRelease", "web", tc.release)
			if tc.ref != "" {
				_ = unstructured.SetNestedField(release.Object, tc.ref, "status", "helmChart")
			}
			charts := map[string]*unstructured.Unstructured{}
			if tc.chart != nil {
				charts[tc.chart.GetName()] = tc.chart
			}
			got := chartOf(fluxItem("HelmRelease", "web", release), release, charts)
			if got.State != tc.want {
				t.Errorf("got %s (%s), want %s", lanetest.StateName(got.State), got.Text, lanetest.StateName(tc.want))
			}
			testkit.WantText(t, "text", got.Text, tc.text...)
		})
	}
}

// The two roots, and every expected HelmRelease and ArtifactGenerator by name (F02, F10).
func TestFluxPoll(t *testing.T) {
	good := fluxStatus(2, fluxCond("Ready", "True", "Succeeded", ""))
	roots := []runtime.Object{fluxObject("OCIRepository", "repo", good), fluxObject("Kustomization", "kust", good)}
	tests := map[string]struct {
		live []runtime.Object
		seen bool
		want []string
	}{
		"nothing yet":                    {nil, false, []string{"repo waiting", "kust waiting", "gen waiting", "one waiting", "two waiting"}},
		"source without the root":        {roots[:1], false, []string{"repo good", "kust waiting", "gen waiting", "one waiting", "two waiting"}},
		"roots only":                     {roots, true, []string{"repo good", "kust good", "gen waiting", "one waiting", "two waiting"}},
		"one of two, no generator (F10)": {append(roots[:2:2], fluxObject("HelmRelease", "one", good)), true, []string{"repo good", "kust good", "gen waiting", "one good", "two waiting"}},
		"all, and one that nobody expects": {append(roots[:2:2], fluxObject("ArtifactGenerator", "gen", good), fluxObject("HelmRelease", "one", good), fluxObject("HelmRelease", "two", good), fluxObject("HelmRelease", "x", nil)),
			true, []string{"repo good", "kust good", "gen good", "one good", "two good"}},
	}
	kinds := map[schema.GroupVersionResource]string{
		infra.OCIRepositoryGVR: "OCIRepositoryList", infra.GitRepositoryGVR: "GitRepositoryList", infra.KustomizationGVR: "KustomizationList", infra.HelmReleaseGVR: "HelmReleaseList",
		infra.ArtifactGeneratorGVR: "ArtifactGeneratorList", infra.HelmChartGVR: "HelmChartList",
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, tc.live...)
			env := &lane.Env{Clients: &infra.Clients{Dynamic: client}, Bundle: &bundle.Bundle{Expectation: bundle.Expectation{
				Delivered: testkit.MustDeliver("OCIRepository repo", "*Kustomization kust", "ArtifactGenerator gen", "HelmRelease one", "HelmRelease two"),
			}}}
			state, err := (&fluxLane{}).Poll(t.Context(), env)
			if err != nil {
				t.Fatalf("look: %v", err)
			}
			if state.RootSeen != tc.seen {
				t.Errorf("root seen: got %v, want %v", state.RootSeen, tc.seen)
			}
			testkit.WantEach(t, "items", lanetest.ItemStates(state), tc.want)
		})
	}
}

// A HelmRelease that waits for a source that cannot be fetched must name the source (F09).
func TestWithSource(t *testing.T) {
	blocked := lane.Item{ID: "HelmRelease a", State: lane.ItemBlocked, Text: "Ready is False (SourceNotReady): no artifact"}
	failing := fluxObject("GitRepository", "placeholder", fluxStatus(-1, fluxCond("Ready", "False", "GitOperationFailed", "repository not found")))
	got := withSource(blocked, "GitRepository", "placeholder", failing)
	if got.State != lane.ItemSuspect || got.Text != "its source, GitRepository placeholder: GitOperationFailed: repository not found" {
		t.Errorf("got %s (%s)", lanetest.StateName(got.State), got.Text)
	}
	for name, cond := range map[string]map[string]any{
		"ready": fluxCond("Ready", "True", "Succeeded", "stored"), "progressing": fluxCond("Ready", "False", "Progressing", "building"), "unknown": fluxCond("Ready", "Unknown", "Progressing", "fetching"),
	} {
		if got := withSource(blocked, "GitRepository", "placeholder", fluxObject("GitRepository", "placeholder", fluxStatus(2, cond))); !reflect.DeepEqual(got, blocked) {
			t.Errorf("%s: got %s (%s), want it to wait", name, lanetest.StateName(got.State), got.Text)
		}
	}
}

// When a HelmRelease was first installed, when it became ready, and what its spec makes it wait
// for.
func TestReleaseTiming(t *testing.T) {
	hr := testkit.Parsed(t, `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {namespace: flux-system}, spec: {dependsOn: [{name: a}, {name: b, namespace: other}]},
		status: {conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:09Z"}], history: [{firstDeployed: "2026-01-01T00:00:58Z"}, {firstDeployed: "2026-01-01T00:00:02Z"}]}}`)
	got := releaseTiming(hr)
	if got.Began.Second() != 2 || got.Ended.Second() != 9 || len(got.After) != 2 || got.After[0] != Ref(KindHelmRelease, "a") || got.After[1].Namespace != "other" {
		t.Errorf("got %+v", got)
	}
}

// Failing health checks of the root count once all else has been good for a while, with the line of what
// they are about: all, where Flux names none.
func TestChecked(t *testing.T) {
	check := func(name string, line int) fluxapi.Check {
		return fluxapi.Check{Kustomization: "apps", At: recipe.Origin{File: "a.yaml", Line: line}, Object: result.Ref{Group: "apps", Kind: "Deployment", Namespace: "web", Name: name}, Live: true}
	}
	e := bundle.Expectation{HealthChecks: []fluxapi.Check{check("web", 3), check("other", 4)}}
	const failed = "Ready is False (HealthCheckFailed): health check failed after 30s: "
	for name, c := range map[string]struct {
		text    string
		release lane.ItemState
		settled time.Duration // ago
		want    lane.ItemState
		place   int
		texts   int
	}{
		"at first":                          {failed + "timeout waiting for: [Deployment/web/other status: 'InProgress']", lane.ItemGood, 0, lane.ItemWaiting, 4, 1},
		"a release is not yet":              {failed + "timeout", lane.ItemWaiting, checksAfter, lane.ItemBlocked, 0, 0},
		"it asks, and a release is not yet": {"Ready is Unknown (Progressing): Running health checks for revision x", lane.ItemWaiting, 0, lane.ItemBlocked, 0, 0},
		"for a while":                       {failed + "timeout waiting for: [Deployment/web/other status: 'InProgress']", lane.ItemGood, checksAfter, lane.ItemFailed, 4, 1},
		"no one is named":                   {failed + "client rate limiter", lane.ItemGood, checksAfter, lane.ItemFailed, 3, 2},
		"another error":                     {"Ready is False (BuildFailed): no", lane.ItemGood, checksAfter, lane.ItemSuspect, 0, 0},
	} {
		l := &fluxLane{}
		if c.settled > 0 {
			l.settled = time.Now().Add(-c.settled)
		}
		state := lane.State{Items: []lane.Item{{Ref: Ref(kindKustomization, "aicr-x"), State: lane.ItemSuspect, Text: c.text}, {Ref: Ref(KindHelmRelease, "web"), State: c.release}}}
		l.checked(&state, e)
		if it := state.Items[0]; it.State != c.want || it.Place.Line != c.place || strings.Count(it.Text, "Kustomization apps waits for ") != c.texts {
			t.Errorf("%s: got %s, %+v, %q", name, it.State, it.Place, it.Text)
		}
		if (c.release != lane.ItemGood) != l.settled.IsZero() {
			t.Errorf("%s: settled %s", name, l.settled)
		}
	}
}
