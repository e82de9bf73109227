// Package flux has the lanes flux-oci and flux-git. It knows HelmReleases, sources and ArtifactGenerators, their
// states and their records. It must not know how Flux's controllers are started, which the cluster
// does, or how long the gate waits.
package flux

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// fluxLane is flux-oci and flux-git: an OCIRepository or a GitRepository, and a Kustomization, are
// applied; Flux pulls the bundle.
type fluxLane struct {
	lane.GitOps
	d bundle.Deployer
	// before is what sources and generators had observed before the last delivery; nil on a first
	// installation.
	before map[string]string
	// settled is since when all but the root is good, as far as that waits for health checks.
	settled time.Time
}

// New returns the lane flux-oci or flux-git, for one cell.
func New(d bundle.Deployer) lane.Lane {
	return &fluxLane{GitOps: lane.GitOps{Kind: infra.FluxControllers, Root: rootName}, d: d}
}

// rootName is the name of the Kustomization that applies the bundle.
func rootName(env *lane.Env) string {
	return bundle.FluxKustomization(bundle.RecipeName(env.Input.Recipe))
}

var _ lane.Lane = (*fluxLane)(nil)

func (l *fluxLane) Deployer() bundle.Deployer { return l.d }

// Order is that of helm-controller, which waits for a release and for dependsOn. A bundle that is not
// this program's says of each release whether it does.
func (l *fluxLane) Order(env *lane.Env) lane.Order {
	order := lane.Order{Flux: true, Ready: true, Releases: true}
	if env.Bundle.Foreign == nil {
		order.Within = bundle.FluxTimeout
	}
	return order
}

func (l *fluxLane) Deploy(ctx context.Context, env *lane.Env) error {
	if env.Before != nil {
		if err := l.remember(ctx, env); err != nil {
			return reason.Wrap(reason.ClusterFailed, err)
		}
	}
	roots := bundle.FluxRoot(env.Input)
	if f := env.Bundle.Foreign; f != nil && len(f.Roots) > 0 {
		roots = f.Roots
	}
	if err := lane.ApplyObjects(ctx, env, roots...); err != nil {
		return err
	}
	return notify(ctx, env)
}

// Artifacts has upstream's file names.
func (l *fluxLane) Artifacts() lane.Artifacts {
	return lane.Artifacts{
		Dumps: []lane.ObjectDump{{
			Name: "flux-resources.yaml", What: "OCIRepositories, GitRepositories, Kustomizations, HelmReleases, ArtifactGenerators, ExternalArtifacts, as kubectl get -o yaml",
			Resources: []schema.GroupVersionResource{infra.OCIRepositoryGVR, infra.GitRepositoryGVR, infra.KustomizationGVR, infra.HelmReleaseGVR, infra.ArtifactGeneratorGVR, infra.ExternalArtifactGVR},
		}},
		Logs: []lane.LogTail{
			{
				Name: "flux-source-controller.log", What: "Flux's source-controller, which pulls: last 500 lines", Component: infra.FluxSourceController, Pulls: true,
				Lead: "it pulls: wrong schemes, media types and tags show here first",
			},
			{
				Name: "flux-kustomize-controller.log", What: "Flux's kustomize-controller, which applies the bundle: last 500 lines", Component: infra.FluxKustomizeController,
				Lead: "it applies the bundle", Kind: "Kustomization",
			},
			{
				Name: "flux-helm-controller.log", What: "Flux's helm-controller, which installs the releases: last 500 lines", Component: infra.FluxHelmController,
				Lead: "it installs the releases", Kind: "HelmRelease",
			},
		},
	}
}

// fluxKinds returns the resources of the kinds that a bundle delivers through Flux, by kind.
func fluxKinds() map[string]schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{
		"OCIRepository": infra.OCIRepositoryGVR, "GitRepository": infra.GitRepositoryGVR, kindKustomization: infra.KustomizationGVR,
		"ArtifactGenerator": infra.ArtifactGeneratorGVR, KindHelmRelease: infra.HelmReleaseGVR,
	}
}

// Poll reads every object that the bundle delivers, by name, and the HelmCharts, which HelmReleases
// create themselves.
func (l *fluxLane) Poll(ctx context.Context, env *lane.Env) (lane.State, error) {
	charts, err := l.objects(ctx, env, infra.HelmChartGVR)
	if err != nil {
		return lane.State{}, err
	}
	live := map[string]map[string]*unstructured.Unstructured{} // by kind and name
	kinds := fluxKinds()
	var state lane.State
	for _, d := range env.Bundle.Expectation.Delivered {
		if live[d.Kind] == nil {
			if live[d.Kind], err = l.objects(ctx, env, kinds[d.Kind]); err != nil {
				return lane.State{}, err
			}
		}
		obj := live[d.Kind][d.Name]
		state.RootSeen = state.RootSeen || d.Root && obj != nil
		it := fluxItem(d.Kind, d.Name, obj)
		it.Ref = d.Ref
		if d.Group == infra.HelmReleaseGVR.Group && obj != nil {
			it.Timing = releaseTiming(obj)
			it = sourceOf(ctx, env, chartOf(it, obj, charts), obj, charts)
		}
		state.Items = append(state.Items, it)
	}
	l.checked(&state, env.Bundle.Expectation)
	return state, nil
}

// checksAfter is how long the root's health checks may fail once all else is good: an attempt that
// began earlier says little, and pods need a while where Flux does not wait for them.
const checksAfter = 45 * time.Second

// checked judges a root whose health checks fail, and says whose they are. Flux tries them again.
func (l *fluxLane) checked(state *lane.State, e bundle.Expectation) {
	if !slices.ContainsFunc(e.HealthChecks, func(c fluxapi.Check) bool { return c.Live }) {
		return
	}
	root, others := -1, true
	for i, it := range state.Items {
		if it.Ref.Kind == kindKustomization {
			root = i
		} else if it.State != lane.ItemGood {
			others = false
		}
	}
	switch {
	case !others || root < 0:
		l.settled = time.Time{}
	case l.settled.IsZero():
		l.settled = time.Now()
	}
	if root < 0 {
		return
	}
	it := &state.Items[root]
	fails := strings.Contains(it.Text, healthCheckFailed)
	if !others && (fails || strings.Contains(it.Text, "Running health checks")) {
		it.State = lane.ItemBlocked // at a deadline a release is what was waited for
		return
	}
	if !fails {
		return
	}
	it.State = lane.ItemWaiting
	if !l.settled.IsZero() && time.Since(l.settled) >= checksAfter {
		it.State = lane.ItemFailed
	}
	said := it.Text
	named := func(c fluxapi.Check) bool {
		return c.Live && strings.Contains(said, c.Object.Kind+"/"+strings.TrimPrefix(c.Object.Namespace+"/"+c.Object.Name, "/")+" ")
	}
	one := slices.ContainsFunc(e.HealthChecks, named) // else Flux ran out of time while it asked
	for _, c := range e.HealthChecks {
		if named(c) || !one && c.Live {
			if it.Place.File == "" {
				it.Place = result.Place{File: c.At.File, Line: c.At.Line}
			}
			it.Text += fmt.Sprintf("\nKustomization %s waits for %s (%s)", c.Kustomization, c.Object, c.At)
		}
	}
}

// healthCheckFailed is the reason of a Kustomization whose objects are not ready in time.
const healthCheckFailed = "HealthCheckFailed"

func (l *fluxLane) objects(ctx context.Context, env *lane.Env, gvr schema.GroupVersionResource) (map[string]*unstructured.Unstructured, error) {
	list, err := env.Clients.Dynamic.Resource(gvr).Namespace(infra.FluxNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", gvr.Resource, err)
	}
	byName := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		byName[list.Items[i].GetName()] = &list.Items[i]
	}
	return byName, nil
}

// The kinds of Flux's objects that lanes and reports distinguish.
const (
	KindHelmRelease   = "HelmRelease"
	kindKustomization = "Kustomization"
)

// Ref returns the reference to one of the cell's Flux objects.
func Ref(kind, name string) result.Ref {
	ref := result.Ref{Kind: kind, Namespace: infra.FluxNamespace, Name: name}
	switch kind {
	case KindHelmRelease:
		ref.Group = infra.HelmReleaseGVR.Group
	case kindKustomization:
		ref.Group = infra.KustomizationGVR.Group
	case "OCIRepository", "GitRepository":
		ref.Group = infra.OCIRepositoryGVR.Group
	case "ArtifactGenerator":
		ref.Group = infra.ArtifactGeneratorGVR.Group
	}
	return ref
}

// fluxItem applies the rule for one Flux object: Ready for its newest generation, and not Stalled.
// AICR's scripts also pass a HelmRelease that is Released and deployed but not Ready. Here that is
// a failure: its tests failed, or something that it waits for did.
func fluxItem(kind, name string, obj *unstructured.Unstructured) lane.Item {
	it := lane.Item{ID: kind + " " + name, Ref: Ref(kind, name)}
	if obj == nil {
		it.Text = "does not exist yet"
		return it
	}
	ready := conditionOf(obj, "Ready")
	it.Attempt = attemptOf(obj, ready)
	observed, found, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	if !found { // an ArtifactGenerator has it only in its conditions
		observed = ready.observed
	}
	// The controllers set it when they succeed. For an object that fails or is in progress from the
	// first try on, it is -1, and the condition has what the controller saw.
	seen := observed >= obj.GetGeneration() || ready.status != "True" && ready.observed >= obj.GetGeneration()
	if stalled := conditionOf(obj, "Stalled"); stalled.status == "True" {
		// Stalled says "retries exceeded"; what went wrong is in Ready or Released.
		it.State, it.Text = lane.ItemFailed, stalled.reason+": "+stalled.message
		if ready.status == "False" && ready.message != "" && ready.reason != stalled.reason {
			it.Text = ready.reason + ": " + ready.message
		}
		return it
	}
	said, step := ready.message, conditionOf(obj, "Reconciling").message
	if said == "Reconciliation in progress" && step != "" {
		said = step // of the kustomize-controller
	}
	it.Text = fmt.Sprintf("Ready is %s (%s): %s", lane.OrUnknown(ready.status), lane.OrUnknown(ready.reason), said)
	switch {
	case !seen:
		it.Text = "its controller has not seen it yet"
	case kind == kindKustomization && ready.status == "Unknown" && appliedAgain(obj, step):
		it.State = lane.ItemBlocked // at a deadline it is never what was waited for
	case ready.status == "True":
		it.State = lane.ItemGood
	case ready.status == "False" && (ready.reason == "DependencyNotReady" || ready.reason == "SourceNotReady"):
		it.State = lane.ItemBlocked
	case ready.status == "False" && ready.reason != "Progressing" && !sourceOnItsWay(ready.message):
		it.State = lane.ItemSuspect
	}
	return it
}

// attemptOf is another text for each try: what the controllers write of the last one.
func attemptOf(obj *unstructured.Unstructured, ready fluxCondition) string {
	text := fmt.Sprint(ready.observed, " ", ready.since.Unix())
	for _, field := range []string{"lastAttemptedRevision", "lastAttemptedGeneration", "lastAttemptedConfigDigest", "failures", "installFailures", "upgradeFailures"} {
		value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", field)
		text += fmt.Sprint(" ", value)
	}
	return text
}

// appliedAgain reports whether a Kustomization applies the revision that it has applied before, as
// it does once in each interval.
func appliedAgain(obj *unstructured.Unstructured, step string) bool {
	applied, _, _ := unstructured.NestedString(obj.Object, "status", "lastAppliedRevision")
	return applied != "" && strings.Contains(step, " revision "+applied+" ")
}

type fluxCondition struct {
	status, reason, message string
	observed                int64
	since                   time.Time
}

func conditionOf(obj *unstructured.Unstructured, conditionType string) fluxCondition {
	c := apimeta.FindStatusCondition(infra.Conditions(obj), conditionType)
	if c == nil {
		return fluxCondition{}
	}
	return fluxCondition{status: string(c.Status), reason: c.Reason, message: c.Message, observed: c.ObservedGeneration, since: c.LastTransitionTime.Time}
}

// sourceOnItsWay reports whether a consumer was faster than its source: it says so in these words,
// and retries.
func sourceOnItsWay(message string) bool {
	for _, part := range []string{"source artifact not found", "Source artifact not found", "is not ready", "artifact not found", "no artifact"} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}

// chartOf replaces the error of a HelmRelease without a chart by its cause: the HelmChart that
// cannot be fetched.
func chartOf(it lane.Item, hr *unstructured.Unstructured, charts map[string]*unstructured.Unstructured) lane.Item {
	if it.State == lane.ItemGood || it.State == lane.ItemFailed {
		return it
	}
	chart := helmChartOf(hr, charts)
	if chart == nil {
		return it
	}
	ready := conditionOf(chart, "Ready")
	if ready.status != "False" || ready.reason == "Progressing" || sourceOnItsWay(ready.message) {
		return it
	}
	chartName, _, _ := unstructured.NestedString(chart.Object, "spec", "chart")
	version, _, _ := unstructured.NestedString(chart.Object, "spec", "version")
	it.State, it.Text = lane.ItemSuspect, fmt.Sprintf("chart %s %s: %s: %s", chartName, version, ready.reason, ready.message)
	return it
}
