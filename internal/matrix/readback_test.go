package matrix

import (
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

func TestMismatch(t *testing.T) {
	want := []delivery{helmDelivery("ns", "a", "a", "1.0.0", "deployed"), helmDelivery("ns", "b", "b", "2.0.0", "deployed")}
	for name, tc := range map[string]struct {
		got  []delivery
		says []string
	}{
		"as it should be": {want, nil},
		"missing":         {want[:1], []string{"Helm release ns/b: want chart b, version 2.0.0, status deployed; got none"}},
		"one too many":    {append(want[:2:2], helmDelivery("x", "c", "c", "3", "failed")), []string{"Helm release x/c: want none: the bundle does not have it; got chart c, version 3, status failed"}},
		"another version": {[]delivery{want[0], helmDelivery("ns", "b", "b", "2.0.1", "deployed")}, []string{"Helm release ns/b: version: want 2.0.0, got 2.0.1"}},
		"another chart, not deployed": {
			[]delivery{helmDelivery("ns", "a", "z", "1.0.0", "pending-install"), want[1]},
			[]string{"Helm release ns/a: chart: want a, got z", "Helm release ns/a: status: want deployed, got pending-install"},
		},
		"another namespace": {
			[]delivery{want[0], helmDelivery("other", "b", "b", "2.0.0", "deployed")},
			[]string{"Helm release ns/b: want chart b", "Helm release other/b: want none"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := mismatch(want, tc.got)
			if f == nil {
				f = &finding{}
			}
			wantEach(t, "details", f.details(), tc.says)
			if len(tc.says) > 0 {
				wantText(t, "cause", f.cause(), tc.says[0])
			}
		})
	}
}

// A component that is lost on the way from the recipe to the expectation, or comes from nowhere, is seen.
func TestRecipeMismatch(t *testing.T) {
	const doc = `
componentRefs:
  - {name: web, namespace: web, chart: example/web, version: v1.4.0}
  - {name: tuning, namespace: tuning, manifestFiles: [a.yaml]}
  - {name: "off", overrides: {enabled: false}}
`
	web := bundle.Release{Component: "web", Name: "web", Namespace: "web", Chart: "web", ChartVersion: "1.4.0"}
	post := bundle.Release{Component: "web", Name: "web-post", Namespace: "web", Chart: "web-post", ChartVersion: "0.1.0", Local: true}
	tuning := bundle.Release{Component: "tuning", Name: "tuning", Namespace: "tuning", Chart: "tuning", ChartVersion: "0.1.0", Local: true}
	newer := web
	newer.ChartVersion = "1.5.0"
	for name, tc := range map[string]struct {
		doc      string
		releases []bundle.Release
		want     string
	}{
		"the same":     {doc, []bundle.Release{web, post, tuning}, ""},
		"one lost":     {doc, []bundle.Release{web}, "component tuning: want namespace tuning"},
		"one too many": {doc, []bundle.Release{web, tuning, {Component: "ghost", Name: "ghost"}}, "component ghost: want none"},
		"disabled":     {doc, []bundle.Release{web, tuning, {Component: "off", Name: "off"}}, "component off: want none"},
		"version":      {doc, []bundle.Release{newer, tuning}, "component web: version: want v1.4.0, got 1.5.0"},
		"no recipe":    {"", []bundle.Release{web}, "names no component"},
	} {
		t.Run(name, func(t *testing.T) {
			f := recipeMismatch(&bundle.Bundle{Files: []bundle.File{{Path: "recipe.yaml", Content: []byte(tc.doc)}}, Expectation: bundle.Expectation{Releases: tc.releases}})
			if (f != nil) != (tc.want != "") {
				t.Fatalf("got %v, want %q", f, tc.want)
			}
			if f != nil {
				wantText(t, "cause", f.cause(), tc.want)
			}
		})
	}
}

// readBackEnv is a cell whose registry is real and whose cluster has these Helm releases.
func readBackEnv(t *testing.T, d bundle.Deployer, releases []*helmrelease.Release) *Env {
	t.Helper()
	reg, err := infra.NewMemoryRegistry(infra.RegistryOptions{Ports: infra.NewPorts(t.TempDir()), Port: infra.DefaultRegistryPort, Log: filepath.Join(t.TempDir(), "registry.log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reg.Close)
	if err := reg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientset()
	store := driver.NewSecrets(kube.CoreV1().Secrets(testNamespace))
	for _, rel := range releases {
		if err := store.Create("sh.helm.release.v1."+rel.Name+".v"+string(rune('0'+rel.Version)), rel); err != nil {
			t.Fatal(err)
		}
	}
	repo := "oci://" + reg.PullHost() + "/aicr/demo"
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "web", Version: "1.0.0"}}
	pushedChart, err := bundle.PushChart(t.Context(), ch, "oci://"+reg.PushHost()+"/charts", true)
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle.Bundle{Deployer: d.Name(), Files: []bundle.File{{Path: "recipe.yaml", Content: []byte("{}")}}, Expectation: bundle.Expectation{
		Releases: []bundle.Release{
			{Component: "web", Name: "web", Namespace: testNamespace, Chart: "web", ChartVersion: "1.0.0"},
			{Component: "own", Name: "own", Namespace: testNamespace, Chart: "own", ChartVersion: "0.1.0", Local: true},
		},
	}}
	switch d.Name() {
	case bundle.ArgoCDOCI:
		b.Expectation.Delivered = mustDeliver("*Application root", "Application web", "Application own")
	case bundle.FluxOCI:
		b.Expectation.Delivered = mustDeliver("OCIRepository aicr-bundle", "*Kustomization aicr-demo", "ArtifactGenerator own", "HelmRelease web", "HelmRelease own")
	}
	pushedBundle, err := bundle.PublishArtifact(t.Context(), b, repo+":1", true)
	if err != nil {
		t.Fatal(err)
	}
	reg.Stop() // what was published is known, and nobody asks for it again
	return &Env{
		Registry: reg, Bundle: b, Clients: &infra.Clients{Kube: kube}, Published: []bundle.Published{pushedChart, pushedBundle},
		Input: bundle.Input{Recipe: &recipe.Result{Metadata: recipe.Metadata{Name: "demo"}}, RepoURL: repo, TargetRevision: "1", ChartRepository: "oci://" + reg.PullHost() + "/charts"},
	}
}

func stored(name, version string, revision int, status helmrelease.Status) *helmrelease.Release {
	return &helmrelease.Release{
		Name: name, Namespace: testNamespace, Version: revision, Info: &helmrelease.Info{Status: status},
		Chart: &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: version}}, Manifest: "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n",
	}
}

func readBack(t *testing.T, d string, env *Env) []string {
	t.Helper()
	rec, err := NewLane(deployers(t, d)[0]).ReadBack(t.Context(), env)
	if err != nil {
		t.Fatalf("%s: %v", d, err)
	}
	f := mismatch(rec.want, rec.got)
	if f == nil {
		return nil
	}
	return f.details()
}

func TestHelmReadBack(t *testing.T) {
	good := []*helmrelease.Release{stored("web", "1.0.0", 1, helmrelease.StatusDeployed), stored("own", "0.1.0", 1, helmrelease.StatusDeployed)}
	env := readBackEnv(t, deployers(t, bundle.Helm)[0], good)
	wantEach(t, "good", readBack(t, bundle.Helm, env), nil)
	rec, err := NewLane(deployers(t, bundle.Helm)[0]).ReadBack(t.Context(), env)
	if err != nil || len(rec.objects) != 2 || rec.objects[0].namespace != testNamespace {
		t.Errorf("got objects %v, %v; want the releases' own, in their namespace", rec.objects, err)
	}
	// The newest revision counts; a digest behind a version is Flux's alone.
	env = readBackEnv(t, deployers(t, bundle.Helm)[0], []*helmrelease.Release{
		stored("web", "1.0.0", 1, helmrelease.StatusDeployed), stored("web", "1.0.0", 2, helmrelease.StatusFailed), stored("own", "0.1.0+abc", 1, helmrelease.StatusDeployed),
	})
	wantEach(t, "bad", readBack(t, bundle.Helm, env), []string{"ns/web: status: want deployed, got failed", "ns/own: version: want 0.1.0, got 0.1.0+abc"})
}

func TestArgoCDReadBack(t *testing.T) {
	var digests = map[string]string{}
	app := func(name, source, revision, path, release string) *unstructured.Unstructured {
		o := object(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {}, destination: {}}, status: {resources: [
  {version: v1, kind: ConfigMap, namespace: ns, name: a}, {version: v1, kind: ConfigMap, namespace: ns, name: hook, hook: true}]}}`)
		o.SetName(name)
		o.SetNamespace(infra.ArgoCDNamespace)
		set := func(v string, fields ...string) {
			if err := unstructured.SetNestedField(o.Object, v, fields...); err != nil {
				t.Fatal(err)
			}
		}
		set(source, "spec", "source", "repoURL")
		set(revision, "spec", "source", "targetRevision")
		set(path, "spec", "source", "path")
		if release != "" {
			set(release, "spec", "source", "helm", "releaseName")
			set(testNamespace, "spec", "destination", "namespace")
		}
		set(digests[source], "status", "sync", "revision")
		set(digests[source], "status", "operationState", "syncResult", "revision")
		return o
	}
	env := readBackEnv(t, deployers(t, bundle.ArgoCDOCI)[0], nil)
	chartURL := env.Input.ChartRepository + "/web"
	for url, tag := range map[string]string{chartURL: "1.0.0", env.Input.RepoURL: "1"} {
		d, err := env.publishedDigest(url, tag)
		if err != nil || !strings.HasPrefix(d, "sha256:") {
			t.Fatalf("digest of %s: %q, %v", url, d, err)
		}
		digests[url] = d
	}
	apps := func() []*unstructured.Unstructured {
		return []*unstructured.Unstructured{
			app("root", env.Input.RepoURL, "1", ".", ""), app("web", chartURL, "1.0.0", ".", "web"), app("own", env.Input.RepoURL, "1", "own/chart", "own"),
		}
	}
	check := func(what string, says []string, objs ...*unstructured.Unstructured) {
		t.Helper()
		kinds := map[schema.GroupVersionResource]string{infra.ApplicationGVR: "ApplicationList"}
		var list []runtime.Object
		for _, o := range objs {
			list = append(list, o)
		}
		env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, list...)
		wantEach(t, what, readBack(t, bundle.ArgoCDOCI, env), says)
	}
	good := apps()
	check("good", nil, good...)
	if refs := applicationObjects(good[1]); len(refs) != 1 || refs[0].name != "a" {
		t.Errorf("got objects %v, want the tracked one and no hook", refs)
	}
	check("missing", []string{"Application argocd/own: want source"}, good[0], good[1])
	check("too many", []string{"Application argocd/ghost: want none"}, append(apps(), app("ghost", chartURL, "1.0.0", ".", "ghost"))...)
	other := apps()
	_ = unstructured.SetNestedField(other[1].Object, "0.9.0", "spec", "source", "targetRevision")
	_ = unstructured.SetNestedField(other[2].Object, "sha256:0", "status", "operationState", "syncResult", "revision")
	if _, err := env.publishedDigest(chartURL, "9.9.9"); err == nil || !strings.Contains(err.Error(), "/charts/web with the version 9.9.9") {
		t.Errorf("what was not published: %v", err)
	}
	check("others", []string{"argocd/web: version: want 1.0.0, got 0.9.0", "argocd/own: synced revision: want sha256:"}, other...)
}

func TestFluxReadBack(t *testing.T) {
	releases := []*helmrelease.Release{stored("web", "1.0.0", 1, helmrelease.StatusDeployed), stored("own", "0.1.0+abc", 1, helmrelease.StatusDeployed)}
	hr := func(name, version string) *unstructured.Unstructured {
		return object(t, `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: `+name+`, namespace: flux-system},
  status: {history: [{name: `+name+`, namespace: ns, chartName: `+name+`, chartVersion: `+version+`, status: deployed}, {name: `+name+`, chartVersion: old}]}}`)
	}
	generator := object(t, `{apiVersion: source.extensions.fluxcd.io/v1beta1, kind: ArtifactGenerator, metadata: {name: own, namespace: flux-system}}`)
	kustomization := object(t, `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: aicr-demo, namespace: flux-system}, status: {}}`)
	for name, tc := range map[string]struct {
		objs []runtime.Object
		says []string
	}{
		"good":         {[]runtime.Object{hr("web", "1.0.0"), hr("own", "0.1.0+abc"), generator}, nil},
		"missing":      {[]runtime.Object{hr("web", "1.0.0"), generator}, []string{"HelmRelease flux-system/own: want release ns/own"}},
		"one too many": {[]runtime.Object{hr("web", "1.0.0"), hr("own", "0.1.0+abc"), hr("ghost", "1"), generator}, []string{"HelmRelease flux-system/ghost: want none"}},
		"a digest behind the version of a chart that is not in the bundle": {
			[]runtime.Object{hr("web", "1.0.0+abc"), hr("own", "0.2.0+abc")},
			[]string{"flux-system/web: version: want 1.0.0, got 1.0.0+abc", "flux-system/own: version: want 0.1.0, got 0.2.0+abc", "ArtifactGenerator flux-system/own: want"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := readBackEnv(t, deployers(t, bundle.FluxOCI)[0], releases)
			digest, err := env.publishedDigest(env.Input.RepoURL, "1")
			if err != nil {
				t.Fatal(err)
			}
			k := kustomization.DeepCopy()
			_ = unstructured.SetNestedField(k.Object, "1@"+digest, "status", "lastAppliedRevision")
			kinds := map[schema.GroupVersionResource]string{infra.HelmReleaseGVR: "HelmReleaseList", infra.KustomizationGVR: "KustomizationList", infra.ArtifactGeneratorGVR: "ArtifactGeneratorList"}
			env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, append(tc.objs, k)...)
			got := readBack(t, bundle.FluxOCI, env)
			wantEach(t, name, got, tc.says)
		})
	}
}

// Records that differ are findings with their objects.
func TestMismatchFields(t *testing.T) {
	release := result.Ref{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: "flux-system", Name: "b"}
	want := []delivery{helmDelivery("ns", "a", "a", "1", "deployed"), delivered(release, fact{"version", "1"}, fact{"status", "deployed"})}
	wantOutline(t, "records that differ", mismatch(want, nil), "Helm release ns/a + HelmRelease.helm.toolkit.fluxcd.io flux-system/b")
}
