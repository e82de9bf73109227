package matrix

import (
	"context"
	"fmt"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// ReadBack reads Helm's storage in every namespace.
func (l *helmLane) ReadBack(ctx context.Context, env *Env) (record, error) {
	rec := record{}
	for _, r := range env.Bundle.Expectation.Releases {
		rec.want = append(rec.want, helmDelivery(r.Namespace, r.Name, r.Chart, r.ChartVersion, string(helmrelease.StatusDeployed)))
	}
	return rec, readHelmStorage(env, nil, &rec)
}

func helmDelivery(namespace, releaseName, chart, version, status string) delivery {
	return delivered(result.Ref{Kind: "Helm release", Namespace: namespace, Name: releaseName}, fact{"chart", chart}, fact{"version", version}, fact{"status", status})
}

// readHelmStorage adds the newest revision of every release in the cluster, and the objects of its manifest. version may change a
// chart's version before it is compared.
func readHelmStorage(env *Env, version func(rel *helmrelease.Release) string, rec *record) error {
	releases, err := storage.Init(driver.NewSecrets(env.Clients.Kube.CoreV1().Secrets(metav1.NamespaceAll))).ListReleases()
	if err != nil {
		return fmt.Errorf("list Helm's releases: %w", err)
	}
	newest := map[string]*helmrelease.Release{}
	var order []string
	for _, rel := range releases {
		key := rel.Namespace + "/" + rel.Name
		if have := newest[key]; have == nil {
			order = append(order, key)
		} else if have.Version > rel.Version {
			continue
		}
		newest[key] = rel
	}
	for _, key := range order {
		rel := newest[key]
		if rel.Chart == nil || rel.Chart.Metadata == nil || rel.Info == nil {
			return fmt.Errorf("release %s in Helm's storage has no chart or no status", key)
		}
		chartVersion := rel.Chart.Metadata.Version
		if version != nil {
			chartVersion = version(rel)
		}
		rec.got = append(rec.got, helmDelivery(rel.Namespace, rel.Name, rel.Chart.Metadata.Name, chartVersion, string(rel.Info.Status)))
		objs, err := infra.DecodeObjects([]byte(rel.Manifest))
		if err != nil {
			return fmt.Errorf("read the manifest of release %s in Helm's storage: %w", key, err)
		}
		for _, o := range flatten(objs) {
			ns := o.GetNamespace()
			if ns == "" {
				ns = rel.Namespace // taken off again for a cluster-scoped kind
			}
			rec.objects = append(rec.objects, objectRef{o.GroupVersionKind(), ns, o.GetName(), rel.Name})
		}
	}
	return nil
}

// flatten replaces a List by its items.
func flatten(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range objs {
		list, err := o.ToList()
		if !o.IsList() || err != nil {
			out = append(out, o)
			continue
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
	return out
}

// ReadBack reads every Application of the cluster: what it was told to deploy, and the revision that its last operation did deploy, which
// must be the digest that was published under the tag. Helm's storage must hold nothing but the wrapper chart's release, if the
// lane has one: Argo CD renders charts and makes no release of them.
func (l *argoCDLane) ReadBack(ctx context.Context, env *Env) (record, error) {
	rec := record{}
	if err := l.expectApplications(env, &rec); err != nil {
		return rec, err
	}
	list, err := env.Clients.Dynamic.Resource(infra.ApplicationGVR).Namespace(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return rec, fmt.Errorf("list Applications: %w", err)
	}
	for i := range list.Items {
		app := &list.Items[i]
		rec.got = append(rec.got, applicationDelivery(app))
		if !isRoot(env.Bundle.Expectation, app) { // whose objects are the Applications
			rec.objects = append(rec.objects, applicationObjects(app)...)
		}
	}
	if wrapper := l.wrapper(env); wrapper != nil {
		rec.want = append(rec.want, *wrapper)
	}
	stored := record{} // the wrapper's own objects are the root Application, which is not one of the recipe's objects
	if err := readHelmStorage(env, nil, &stored); err != nil {
		return rec, err
	}
	rec.got = append(rec.got, stored.got...)
	return rec, nil
}

// wrapper is the release of argocd-helm-oci's wrapper chart.
func (l *argoCDLane) wrapper(env *Env) *delivery {
	if l.d.Name() != bundle.ArgoCDHelmOCI {
		return nil
	}
	name := bundle.RecipeName(env.Input.Recipe)
	d := helmDelivery(infra.ArgoCDNamespace, bundle.WrapperRelease(name), name, env.Input.TargetRevision, string(helmrelease.StatusDeployed))
	return &d
}

func (l *argoCDLane) expectApplications(env *Env, rec *record) error {
	e, in := env.Bundle.Expectation, env.Input
	add := func(name, repoURL, revision, path string, more ...fact) error {
		digest, err := env.publishedDigest(repoURL, revision)
		if err != nil {
			return err
		}
		facts := append([]fact{{"source", repoURL}, {"version", revision}, {"path", path}}, more...)
		facts = append(facts, fact{"synced revision", digest}, fact{"compared revision", digest})
		rec.want = append(rec.want, delivered(applicationRef(name), facts...))
		return nil
	}
	for _, d := range e.Delivered {
		if !d.Root {
			continue
		}
		if err := add(d.Name, in.RepoURL, in.TargetRevision, "."); err != nil {
			return err
		}
	}
	for _, r := range e.Releases {
		repoURL, revision, path := strings.TrimSuffix(in.ChartRepository, "/")+"/"+r.Chart, r.ChartVersion, "."
		if r.Local {
			repoURL, revision, path = in.RepoURL, in.TargetRevision, r.Name+"/chart"
			if l.d.Name() == bundle.ArgoCDHelmOCI {
				path = "local/" + r.Name
			}
		}
		if err := add(r.Name, repoURL, revision, path, fact{"release", r.Name}, fact{"namespace", r.Namespace}); err != nil {
			return err
		}
	}
	return nil
}

func applicationDelivery(app *unstructured.Unstructured) delivery {
	get := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(app.Object, fields...)
		return s
	}
	path := get("spec", "source", "path")
	if chart := get("spec", "source", "chart"); chart != "" {
		path = "chart " + chart
	}
	return delivered(refOf(app), []fact{
		{"source", get("spec", "source", "repoURL")}, {"version", get("spec", "source", "targetRevision")}, {"path", path},
		{"release", get("spec", "source", "helm", "releaseName")}, {"namespace", get("spec", "destination", "namespace")},
		{"synced revision", get("status", "operationState", "syncResult", "revision")}, {"compared revision", get("status", "sync", "revision")},
	}...)
}

// applicationObjects are the live objects that an Application tracks. Hooks are left out: Argo CD also runs those that Helm keeps for
// upgrades, since a sync is both to it (https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-hooks).
func applicationObjects(app *unstructured.Unstructured) []objectRef {
	resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	var refs []objectRef
	for _, r := range resources {
		m, _ := r.(map[string]any)
		if hook, _ := m["hook"].(bool); hook {
			continue
		}
		text := func(key string) string { s, _ := m[key].(string); return s }
		refs = append(refs, objectRef{
			schema.GroupVersionKind{Group: text("group"), Version: text("version"), Kind: text("kind")}, text("namespace"), text("name"), app.GetName(),
		})
	}
	return refs
}

// ReadBack reads every HelmRelease and its newest release in status.history, Helm's storage, the ArtifactGenerators, and the revision of
// the bundle that the Kustomization has applied.
func (l *fluxLane) ReadBack(ctx context.Context, env *Env) (record, error) {
	rec := record{}
	e, in := env.Bundle.Expectation, env.Input
	digest, err := env.publishedDigest(in.RepoURL, in.TargetRevision)
	if err != nil {
		return rec, err
	}
	var generators []delivery
	for _, d := range e.Delivered {
		switch d.Group {
		case infra.KustomizationGVR.Group:
			rec.want = append(rec.want, delivered(d.Ref, fact{"applied revision", in.TargetRevision + "@" + digest}))
		case infra.ArtifactGeneratorGVR.Group:
			generators = append(generators, delivered(d.Ref))
		}
	}
	local := map[string]bundle.Release{}
	for _, r := range e.Releases {
		if r.Local {
			local[r.Namespace+"/"+r.Name] = r
		}
		own := helmDelivery(r.Namespace, r.Name, r.Chart, r.ChartVersion, string(helmrelease.StatusDeployed))
		rec.want = append(rec.want, own, delivered(fluxRef(kindHelmRelease, r.Name), append([]fact{{"release", r.Namespace + "/" + r.Name}}, own.facts...)...))
	}
	rec.want = append(rec.want, generators...)
	for _, k := range []struct {
		gvr  schema.GroupVersionResource
		read func(*unstructured.Unstructured) delivery
	}{
		{infra.KustomizationGVR, func(o *unstructured.Unstructured) delivery {
			revision, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
			return delivered(refOf(o), fact{"applied revision", revision})
		}},
		{infra.HelmReleaseGVR, func(o *unstructured.Unstructured) delivery { return helmReleaseDelivery(o, local) }},
		{infra.ArtifactGeneratorGVR, func(o *unstructured.Unstructured) delivery {
			return delivered(refOf(o))
		}},
	} {
		list, err := env.Clients.Dynamic.Resource(k.gvr).Namespace(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return rec, fmt.Errorf("list %s: %w", k.gvr.Resource, err)
		}
		for i := range list.Items {
			rec.got = append(rec.got, k.read(&list.Items[i]))
		}
	}
	return rec, readHelmStorage(env, func(rel *helmrelease.Release) string {
		return withoutDigest(rel.Chart.Metadata.Version, local[rel.Namespace+"/"+rel.Name])
	}, &rec)
}

func helmReleaseDelivery(hr *unstructured.Unstructured, local map[string]bundle.Release) delivery {
	d := delivered(refOf(hr))
	history, _, _ := unstructured.NestedSlice(hr.Object, "status", "history")
	if len(history) == 0 {
		return d
	}
	m, _ := history[0].(map[string]any) // the newest
	text := func(key string) string { s, _ := m[key].(string); return s }
	at := text("namespace") + "/" + text("name")
	d.facts = []fact{{"release", at}, {"chart", text("chartName")}, {"version", withoutDigest(text("chartVersion"), local[at])}, {"status", text("status")}}
	return d
}

// withoutDigest: helm-controller writes the digest of an ExternalArtifact behind the version of the chart in it, so that an upgrade
// happens when only the content has changed (https://fluxcd.io/flux/components/helm/helmreleases/#chart-reference). That concerns the
// charts inside the bundle and no others.
func withoutDigest(version string, local bundle.Release) string {
	if local.Local && sameVersion(version, local.ChartVersion) {
		return local.ChartVersion
	}
	return version
}

// pushURL is where a URL of the controllers is for this process.
func (env *Env) pushURL(url string) string {
	return strings.Replace(url, env.Registry.PullHost(), env.Registry.PushHost(), 1)
}

// publishedDigest is the digest of what was published for a controller to pull as repoURL with this chart version or tag.
func (env *Env) publishedDigest(repoURL, version string) (string, error) {
	for _, p := range env.Published {
		if p.Is(env.pushURL(repoURL), version) {
			return p.Digest, nil
		}
	}
	return "", fmt.Errorf("nothing was published as %s with the version %s", repoURL, version)
}
