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
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// applicationTiming reads an Application's wave and its first sync.
func applicationTiming(app *unstructured.Unstructured) *lane.Timing {
	t := &lane.Timing{}
	t.Wave, _ = strconv.Atoi(cmp.Or(app.GetLabels()[argoapi.WaveLabel], app.GetAnnotations()[waveAnnotation])) // none is wave 0, as for Argo CD
	history, _, _ := unstructured.NestedSlice(app.Object, "status", "history")
	if len(history) > 0 { // the oldest is first
		sync, _ := history[0].(map[string]any)
		t.Began, t.Ended = lane.TimeOf(sync["deployStartedAt"]), lane.TimeOf(sync["deployedAt"])
	}
	return t
}

const waveAnnotation = "argocd.argoproj.io/sync-wave"

// ReadBack reads every Application of the cluster: what it had to deploy, and the revision that its
// last operation deployed, which must be the digest or the commit that was published. Helm's
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
		got := applicationDelivery(app)
		switch {
		case env.Before != nil:
			got = upgradedDelivery(app, got)
		case hasNothing(app, env.Bundle.Expectation):
			syncedAsCompared(app, got)
		}
		rec.Got = append(rec.Got, got)
		if !isRoot(env.Bundle.Expectation, app) { // whose objects are the Applications
			rec.Objects = append(rec.Objects, ApplicationObjects(app)...)
		}
	}
	if env.Before != nil {
		for i := range rec.Want {
			rec.Want[i].Facts = append(rec.Want[i].Facts, lane.Fact{Name: comparedWith, Value: ownSpec})
		}
	}
	stored := lane.Record{} // a wrapper's own object is the root Application, which is not the recipe's
	if err := lane.ReadHelmStorage(env, nil, &stored); err != nil {
		return rec, err
	}
	rec.Got = append(rec.Got, stored.Got...)
	return rec, nil
}

// source is one source of an Application, with the revision that was synced and compared.
type source struct{ repoURL, version, path, revision string }

// and joins what an Application has of each of its sources.
const and = " and "

// sourceFacts are the facts of an Application's sources. Without a revision, as of an upstream
// registry's chart, none is compared.
func sourceFacts(sources []source, release, namespace string) []lane.Fact {
	joined := func(of func(source) string) string {
		var parts []string
		for _, s := range sources {
			parts = append(parts, of(s))
		}
		return strings.Join(parts, and)
	}
	facts := []lane.Fact{
		{Name: "source", Value: joined(func(s source) string { return s.repoURL })}, {Name: "version", Value: joined(func(s source) string { return s.version })},
		{Name: "path", Value: joined(func(s source) string { return s.path })},
	}
	if release != "" {
		facts = append(facts, lane.Fact{Name: "release", Value: release}, lane.Fact{Name: "namespace", Value: namespace})
	}
	for _, s := range sources {
		if s.revision == "" {
			return facts
		}
	}
	revisions := joined(func(s source) string { return s.revision })
	return append(facts, lane.Fact{Name: "synced revision", Value: revisions}, lane.Fact{Name: "compared revision", Value: revisions})
}

// expectApplications: each Application has the sources that the bundle gives it, and has synced what
// was published there: the digest of a chart, the digest or the commit of the bundle.
func (l *appLane) expectApplications(env *lane.Env, rec *lane.Record) error {
	e, in := env.Bundle.Expectation, env.Input
	published := func(repoURL, version, path string) (source, error) {
		digest, err := env.PublishedDigest(repoURL, version)
		return source{repoURL, version, path, publish.GitCommit(digest)}, err
	}
	values := map[string]bool{} // that have a source of their own
	for _, d := range e.Delivered {
		values[d.Name] = d.ValuesSource
		if !d.Root || d.Kind != "Application" {
			continue
		}
		own, err := published(in.RepoURL, in.TargetRevision, rootPath(env, d.Name))
		if err != nil {
			return err
		}
		rec.Want = append(rec.Want, lane.Delivered(applicationRef(d.Name), sourceFacts([]source{own}, "", "")...))
	}
	for i, r := range e.Releases {
		var chart source
		var err error
		switch {
		case r.Local:
			chart, err = published(in.RepoURL, in.TargetRevision, r.PathOr(l.localPath(r.Name)))
		case in.Direct:
			chart = directSource(env.Bundle.Installs[i])
		default:
			chart, err = published(strings.TrimSuffix(in.ChartRepository, "/")+"/"+r.Chart, r.ChartVersion, ".")
			chart.version = r.Tag()
		}
		if err != nil {
			return err
		}
		sources := []source{chart}
		if values[r.Name] {
			own, err := published(in.RepoURL, in.TargetRevision, valuesPath)
			if err != nil {
				return err
			}
			sources = append(sources, own)
		}
		rec.Want = append(rec.Want, lane.Delivered(applicationRef(r.Name), sourceFacts(sources, r.InHelm(), r.Namespace)...))
	}
	return nil
}

// rootPath is where a root Application finds the others in the bundle: as another program wrote it, if one has.
func rootPath(env *lane.Env, root string) string {
	if f := env.Bundle.Foreign; f != nil {
		for _, r := range f.Roots {
			if path, _, _ := unstructured.NestedString(r.Object, "spec", "source", "path"); r.GetName() == root && path != "" {
				return path
			}
		}
	}
	return bundle.RootPath(env.Input, root)
}

// valuesPath stands for the path of a source that is only referred to.
const valuesPath = "ref values"

// directSource returns the source of a chart that Argo CD pulls from upstream. From a repository
// with an index, the revision is the chart's version; from a registry, it is a digest that only the
// registry knows.
func directSource(in bundle.Install) source {
	r := in.Release
	if in.RepoURL != "" {
		return source{in.RepoURL, r.ChartVersion, "chart " + r.Chart, r.ChartVersion}
	}
	return source{in.Ref, r.ChartVersion, ".", ""}
}

func applicationDelivery(app *unstructured.Unstructured) lane.Delivery {
	get := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(app.Object, fields...)
		return s
	}
	specs, several, _ := unstructured.NestedSlice(app.Object, "spec", "sources")
	if one, _, _ := unstructured.NestedMap(app.Object, "spec", "source"); !several {
		specs = []any{one}
	}
	var sources []source
	release := app.GetName()
	for _, spec := range specs {
		m, _ := spec.(map[string]any)
		text := func(key string) string { s, _ := m[key].(string); return s }
		s := source{repoURL: text("repoURL"), version: text("targetRevision"), path: text("path")}
		switch {
		case text("chart") != "":
			s.path = "chart " + text("chart")
		case text("ref") != "":
			s.path = "ref " + text("ref")
		}
		sources = append(sources, s)
		name, _, _ := unstructured.NestedString(m, "helm", "releaseName")
		release = cmp.Or(name, release)
	}
	revisions := func(fields ...string) string {
		if !several {
			return get(append(fields, "revision")...)
		}
		all, _, _ := unstructured.NestedStringSlice(app.Object, append(fields, "revisions")...)
		return strings.Join(all, and)
	}
	facts := sourceFacts(sources, release, get("spec", "destination", "namespace"))
	return lane.Delivered(lane.RefOf(app), append(facts,
		lane.Fact{Name: "synced revision", Value: revisions("status", "operationState", "syncResult")}, lane.Fact{Name: "compared revision", Value: revisions("status", "sync")},
	)...)
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
