package argocd

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/appset"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// applicationTiming reads an Application's wave and its first sync.
func applicationTiming(app *unstructured.Unstructured) *lane.Timing {
	t := &lane.Timing{}
	t.Wave, _ = strconv.Atoi(cmp.Or(app.GetLabels()[appset.WaveLabel], app.GetAnnotations()[waveAnnotation])) // none is wave 0, as for Argo CD
	history, _, _ := unstructured.NestedSlice(app.Object, "status", "history")
	if len(history) > 0 { // the oldest is first
		sync, _ := history[0].(map[string]any)
		t.Began, t.Ended = lane.TimeOf(sync["deployStartedAt"]), lane.TimeOf(sync["deployedAt"])
	}
	return t
}

const waveAnnotation = "argocd.argoproj.io/sync-wave"

// ReadBack reads every Application of the cluster: what it had to deploy, and the revision that its
// last operation deployed, which must be the digest that was published under the tag. Helm's
// storage must be empty, except for what a lane adds: Argo CD renders charts and creates no
// releases.
func (l *appLane) ReadBack(ctx context.Context, env *lane.Env) (lane.Record, error) {
	rec := lane.Record{}
	if err := l.expectApplications(env, &rec); err != nil {
		return rec, err
	}
	list, err := env.Clients.Dynamic.Resource(infra.ApplicationGVR).Namespace(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return rec, fmt.Errorf("list Applications: %w", err)
	}
	for i := range list.Items {
		app := &list.Items[i]
		rec.Got = append(rec.Got, applicationDelivery(app))
		if !isRoot(env.Bundle.Expectation, app) { // whose objects are the Applications
			rec.Objects = append(rec.Objects, ApplicationObjects(app)...)
		}
	}
	stored := lane.Record{} // a wrapper's own object is the root Application, which is not the recipe's
	if err := lane.ReadHelmStorage(env, nil, &stored); err != nil {
		return rec, err
	}
	rec.Got = append(rec.Got, stored.Got...)
	return rec, nil
}

func (l *appLane) expectApplications(env *lane.Env, rec *lane.Record) error {
	e, in := env.Bundle.Expectation, env.Input
	add := func(name, repoURL, revision, path string, more ...lane.Fact) error {
		digest, err := env.PublishedDigest(repoURL, revision)
		if err != nil {
			return err
		}
		facts := append([]lane.Fact{{Name: "source", Value: repoURL}, {Name: "version", Value: revision}, {Name: "path", Value: path}}, more...)
		facts = append(facts, lane.Fact{Name: "synced revision", Value: digest}, lane.Fact{Name: "compared revision", Value: digest})
		rec.Want = append(rec.Want, lane.Delivered(applicationRef(name), facts...))
		return nil
	}
	for _, d := range e.Delivered {
		if !d.Root || d.Kind != "Application" {
			continue
		}
		if err := add(d.Name, in.RepoURL, in.TargetRevision, "."); err != nil {
			return err
		}
	}
	for i, r := range e.Releases {
		if in.Direct && !r.Local {
			rec.Want = append(rec.Want, directApplication(env.Bundle.Installs[i]))
			continue
		}
		repoURL, revision, path := strings.TrimSuffix(in.ChartRepository, "/")+"/"+r.Chart, r.ChartVersion, "."
		if r.Local {
			repoURL, revision, path = in.RepoURL, in.TargetRevision, cmp.Or(r.Path, l.localPath(r.Name))
		}
		if err := add(r.Name, repoURL, revision, path, lane.Fact{Name: "release", Value: r.InHelm()}, lane.Fact{Name: "namespace", Value: r.Namespace}); err != nil {
			return err
		}
	}
	return nil
}

// directApplication returns the Application of a chart that Argo CD pulls from upstream. From a
// repository with an index, the revision is the chart's version; from a registry, it is a digest
// that only the registry knows.
func directApplication(in bundle.Install) lane.Delivery {
	r := in.Release
	source, path := in.Ref, "."
	var revisions []lane.Fact
	if in.RepoURL != "" {
		source, path = in.RepoURL, "chart "+r.Chart
		revisions = []lane.Fact{{Name: "synced revision", Value: r.ChartVersion}, {Name: "compared revision", Value: r.ChartVersion}}
	}
	facts := []lane.Fact{
		{Name: "source", Value: source}, {Name: "version", Value: r.ChartVersion}, {Name: "path", Value: path}, {Name: "release", Value: r.Name}, {Name: "namespace", Value: r.Namespace},
	}
	return lane.Delivered(applicationRef(r.Name), append(facts, revisions...)...)
}

func applicationDelivery(app *unstructured.Unstructured) lane.Delivery {
	get := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(app.Object, fields...)
		return s
	}
	path := get("spec", "source", "path")
	if chart := get("spec", "source", "chart"); chart != "" {
		path = "chart " + chart
	}
	return lane.Delivered(lane.RefOf(app), []lane.Fact{
		{Name: "source", Value: get("spec", "source", "repoURL")}, {Name: "version", Value: get("spec", "source", "targetRevision")}, {Name: "path", Value: path},
		{Name: "release", Value: cmp.Or(get("spec", "source", "helm", "releaseName"), app.GetName())}, {Name: "namespace", Value: get("spec", "destination", "namespace")},
		{Name: "synced revision", Value: get("status", "operationState", "syncResult", "revision")}, {Name: "compared revision", Value: get("status", "sync", "revision")},
	}...)
}

// ApplicationObjects returns the live objects that an Application tracks. Hooks are left out: Argo
// CD also runs those that Helm runs only for upgrades, since it does not distinguish installs from
// upgrades (https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-hooks).
func ApplicationObjects(app *unstructured.Unstructured) []lane.Object {
	resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	var refs []lane.Object
	for _, r := range resources {
		m, _ := r.(map[string]any)
		if hook, _ := m["hook"].(bool); hook {
			continue
		}
		text := func(key string) string { s, _ := m[key].(string); return s }
		refs = append(refs, lane.Object{
			GVK: schema.GroupVersionKind{Group: text("group"), Version: text("version"), Kind: text("kind")}, Namespace: text("namespace"), Name: text("name"), Release: app.GetName(),
		})
	}
	return refs
}
