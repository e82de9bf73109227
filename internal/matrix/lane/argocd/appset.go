package argocd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// appSetLane is argocd-appset: an ApplicationSet creates the Applications, for each cluster with a
// label, and syncs them wave by wave.
type appSetLane struct{ *appLane }

// NewAppSet returns the lane argocd-appset, for one cell.
func NewAppSet(d bundle.Deployer) lane.Lane {
	l := appSetLane{newAppLane(d)}
	l.With = []infra.ControllerKind{infra.ApplicationSetControllers}
	return l
}

var _ lane.Lane = appSetLane{}

// Install adds the bundle's AppProject and cluster to Argo CD's settings: nothing may write either
// once it runs.
func (l appSetLane) Install(ctx context.Context, env *lane.Env) error {
	var settings []*unstructured.Unstructured
	for _, file := range []string{argoapi.ProjectFile, argoapi.ClusterFile} {
		objs, err := objectsIn(env.Bundle, file)
		if err != nil {
			return reason.Wrap(reason.ArgoCDInstallFailed, err)
		}
		settings = append(settings, objs...)
	}
	return l.InstallWith(ctx, env, settings)
}

// Order is that of an Application, and the steps of the ApplicationSet wait for the Applications.
func (l appSetLane) Order(*lane.Env) lane.Order {
	return lane.Order{ArgoCD: true, Ready: true, Releases: true}
}

// Deploy is `kubectl apply -f applicationset.yaml`.
func (l appSetLane) Deploy(ctx context.Context, env *lane.Env) error {
	objs, err := objectsIn(env.Bundle, argoapi.AppSetFile)
	if err != nil {
		return reason.Wrap(reason.DeployFailed, err)
	}
	return lane.ApplyObjects(ctx, env, objs...)
}

// objectsIn returns the objects in a file of the bundle; none if the bundle lacks it.
func objectsIn(b *bundle.Bundle, file string) ([]*unstructured.Unstructured, error) {
	for _, f := range b.Files {
		if f.Path == file {
			objs, err := infra.DecodeObjects(f.Content)
			if err != nil {
				return nil, fmt.Errorf("read %s of the bundle: %w", file, err)
			}
			return objs, nil
		}
	}
	return nil, nil
}

// Poll reads the ApplicationSet and every expected Application by name.
func (l appSetLane) Poll(ctx context.Context, env *lane.Env) (lane.State, error) {
	apps, err := applications(ctx, env)
	if err != nil {
		return lane.State{}, err
	}
	set, err := env.Clients.Dynamic.Resource(infra.ApplicationSetGVR).Namespace(infra.ArgoCDNamespace).Get(ctx, argoapi.AppSetName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		set, err = nil, nil
	}
	if err != nil {
		return lane.State{}, fmt.Errorf("read ApplicationSet %s: %w", argoapi.AppSetName, err)
	}
	l.refresh(ctx, env, apps)
	root := appSetItem(set)
	if set != nil && root.State == lane.ItemWaiting && upToDate(set) && len(generated(set)) == 0 {
		clusters, err := env.Clients.Kube.CoreV1().Secrets(infra.ArgoCDNamespace).List(ctx, metav1.ListOptions{LabelSelector: "argocd.argoproj.io/secret-type=cluster"})
		if err != nil {
			return lane.State{}, fmt.Errorf("list the clusters of Argo CD: %w", err)
		}
		labels := map[string]map[string]string{}
		for _, c := range clusters.Items {
			labels[c.Name] = c.Labels
		}
		if why := noCluster(set, labels); why != "" {
			root.State, root.Text = lane.ItemFailed, why
		}
	}
	state := lane.State{RootSeen: set != nil, Items: []lane.Item{root}}
	for _, d := range env.Bundle.Expectation.Delivered {
		if d.Root {
			continue
		}
		it := applicationItem(d.Name, apps[d.Name], false)
		if apps[d.Name] == nil && (root.State == lane.ItemSuspect || root.State == lane.ItemFailed) {
			it.State = lane.ItemBlocked
		}
		neverComes(&it, env.Bundle.Expectation)
		if env.Before != nil || hasNothing(apps[d.Name], env.Bundle.Expectation) {
			nothingToSync(&it, apps[d.Name])
		}
		state.Items = append(state.Items, it)
	}
	holdWaves(state.Items[1:], apps)
	return state, nil
}

// appSetItem returns the state of the ApplicationSet: what it has generated, and not how the
// Applications are.
func appSetItem(set *unstructured.Unstructured) lane.Item {
	it := lane.Item{ID: "ApplicationSet " + argoapi.AppSetName, Ref: result.Ref{
		Group: infra.ApplicationSetGVR.Group, Kind: "ApplicationSet", Namespace: infra.ArgoCDNamespace, Name: argoapi.AppSetName,
	}}
	if set == nil {
		it.Text = "does not exist yet"
		return it
	}
	if is, message := appSetCondition(set, "ErrorOccurred"); is {
		it.State, it.Text = lane.ItemSuspect, message
		if strings.Contains(message, "is already owned by another ApplicationSet") {
			it.State = lane.ItemFailed // nothing restores it
		}
		return it
	}
	n := len(generated(set))
	it.Text = fmt.Sprintf("generated %d applications", n)
	if rolling, message := appSetCondition(set, "RolloutProgressing"); rolling {
		it.Text += ": " + message
	}
	if n > 0 && upToDate(set) {
		it.State = lane.ItemGood
	}
	return it
}

// upToDate reports whether the controller has generated all Applications.
func upToDate(set *unstructured.Unstructured) bool {
	is, _ := appSetCondition(set, "ResourcesUpToDate")
	return is
}

func appSetCondition(set *unstructured.Unstructured, name string) (bool, string) {
	conditions, _, _ := unstructured.NestedSlice(set.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if m["type"] == name {
			message, _ := m["message"].(string)
			return m["status"] == "True", message
		}
	}
	return false, ""
}

// generated returns the names of the Applications that the ApplicationSet reports, sorted.
func generated(set *unstructured.Unstructured) []string {
	resources, _, _ := unstructured.NestedSlice(set.Object, "status", "resources")
	var names []string
	for _, r := range resources {
		m, _ := r.(map[string]any)
		if name, _ := m["name"].(string); m["kind"] == "Application" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// noCluster says why an ApplicationSet that generates nothing never will: its generators have no
// elements, or none of the registered clusters (their labels, by the names of their Secrets) has
// the label. If it is empty, the controller has yet to see the cluster.
func noCluster(set *unstructured.Unstructured, clusters map[string]map[string]string) string {
	elements, selectors := generatorsOf(set)
	if elements == 0 {
		return "generated 0 applications: its list generator has no elements"
	}
	for _, wanted := range selectors {
		matches := false
		for _, labels := range clusters {
			matches = matches || contains(labels, wanted)
		}
		if matches {
			continue
		}
		var pairs []string
		for k, v := range wanted {
			pairs = append(pairs, k+"="+v)
		}
		slices.Sort(pairs)
		known := "none is registered"
		if len(clusters) > 0 {
			var names []string
			for name := range clusters {
				names = append(names, name)
			}
			slices.Sort(names)
			known = "registered by Secret: " + strings.Join(names, ", ")
		}
		return fmt.Sprintf("generated 0 applications: no cluster has the label %s (%s). Register the cluster with it: kubectl apply -f %s", strings.Join(pairs, ","), known, argoapi.ClusterFile)
	}
	return ""
}

func contains(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// generatorsOf returns how many elements the list generators inside the matrix generator have, and
// the labels by which its cluster generators select.
func generatorsOf(set *unstructured.Unstructured) (elements int, selectors []map[string]string) {
	outer, _, _ := unstructured.NestedSlice(set.Object, "spec", "generators")
	for _, g := range outer {
		m, _ := g.(map[string]any)
		inner, _, _ := unstructured.NestedSlice(m, "matrix", "generators")
		for _, g := range inner {
			m, _ := g.(map[string]any)
			list, _, _ := unstructured.NestedSlice(m, "list", "elements")
			elements += len(list)
			if labels, found, _ := unstructured.NestedStringMap(m, "clusters", "selector", "matchLabels"); found {
				selectors = append(selectors, labels)
			}
		}
	}
	return elements, selectors
}

// holdWaves marks each Application that was not synced yet with the one of an earlier wave that it
// waits for: RollingSync continues when every Application of a wave is Synced and Healthy. An
// otherwise accepted state is therefore not enough if a later wave waits.
func holdWaves(items []lane.Item, apps map[string]*unstructured.Unstructured) {
	for i := range items {
		app := apps[items[i].Ref.Name]
		if app == nil || items[i].State != lane.ItemWaiting {
			continue
		}
		if _, began, _ := unstructured.NestedMap(app.Object, "status", "operationState"); began {
			continue
		}
		wave := applicationTiming(app).Wave
		held := -1 // the item that it waits for: of the earliest wave
		for j := range items {
			if items[j].Timing == nil || items[j].Timing.Wave >= wave || items[j].State == lane.ItemGood || items[j].State == lane.ItemBlocked {
				continue
			}
			if held < 0 || items[j].Timing.Wave < items[held].Timing.Wave {
				held = j
			}
		}
		if held < 0 {
			continue
		}
		if items[held].State == lane.ItemAccepted {
			items[held].State = lane.ItemWaiting
			items[held].Text += "; RollingSync waits for it to be Synced and Healthy before it starts the next wave"
		}
		items[i].State = lane.ItemBlocked
		items[i].Text += fmt.Sprintf("; wave %d waits for %s of wave %d", wave, items[held].ID, items[held].Timing.Wave)
	}
}

// ReadBack adds the cluster's ApplicationSets, with the names that each reports as generated.
func (l appSetLane) ReadBack(ctx context.Context, env *lane.Env) (lane.Record, error) {
	rec, err := l.appLane.ReadBack(ctx, env)
	if err != nil {
		return rec, err
	}
	var names []string
	for _, d := range env.Bundle.Expectation.Delivered {
		if !d.Root {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	fact := func(names []string) lane.Fact {
		return lane.Fact{Name: "applications", Value: strings.Join(names, ", ")}
	}
	rec.Want = append(rec.Want, lane.Delivered(appSetItem(nil).Ref, fact(names)))
	sets, err := env.Clients.Dynamic.Resource(infra.ApplicationSetGVR).Namespace(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return rec, fmt.Errorf("list ApplicationSets: %w", err)
	}
	for i := range sets.Items {
		rec.Got = append(rec.Got, lane.Delivered(lane.RefOf(&sets.Items[i]), fact(generated(&sets.Items[i]))))
	}
	return rec, nil
}

// Artifacts adds the ApplicationSet and its controller's log.
func (l appSetLane) Artifacts() lane.Artifacts {
	e := l.appLane.Artifacts()
	e.Dumps = append(e.Dumps, lane.ObjectDump{
		Name: "argo-appsets.yaml", What: "the ApplicationSet and its AppProject: kubectl get applicationsets,appprojects -n argocd -o yaml",
		Namespace: infra.ArgoCDNamespace, Resources: []schema.GroupVersionResource{infra.ApplicationSetGVR, infra.AppProjectGVR},
	})
	e.Logs = append(e.Logs, lane.LogTail{
		Name: "argo-applicationset.log", What: "Argo CD's applicationset-controller, which makes the Applications and starts their waves: last 500 lines",
		Component: infra.ArgoCDApplicationSets, Kind: "ApplicationSet", Lead: "what it generated, and which wave it started when",
	})
	return e
}
