package matrix

import (
	"cmp"
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
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/lane/argocd"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// readBackEnv is a cell whose registry is real and whose cluster has these Helm releases.
func readBackEnv(t *testing.T, d bundle.Deployer, releases []*helmrelease.Release) *lane.Env {
	t.Helper()
	reg, err := embedded.NewMemoryRegistry(embedded.RegistryOptions{Ports: host.NewPorts(t.TempDir()), Port: embedded.DefaultRegistryPort, Log: filepath.Join(t.TempDir(), "registry.log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reg.Close)
	if err := reg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientset()
	store := driver.NewSecrets(kube.CoreV1().Secrets(testkit.TestNamespace))
	for _, rel := range releases {
		if err := store.Create("sh.helm.release.v1."+rel.Name+".v"+string(rune('0'+rel.Version)), rel); err != nil {
			t.Fatal(err)
		}
	}
	repo := "oci://" + reg.PullHost() + "/aicr/demo"
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "web", Version: "1.0.0"}}
	pushedChart, err := publish.PushChart(t.Context(), ch, "oci://"+reg.PushHost()+"/charts", publish.Own())
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle.Bundle{Deployer: d.Name(), Files: []bundle.File{{Path: "recipe.yaml", Content: []byte("{}")}}, Expectation: bundle.Expectation{
		Releases: []bundle.Release{
			{Component: "web", Name: "web", Namespace: testkit.TestNamespace, Chart: "web", ChartVersion: "1.0.0"},
			{Component: "own", Name: "own", Namespace: testkit.TestNamespace, Chart: "own", ChartVersion: "0.1.0", Local: true},
		},
	}}
	switch d.Name() {
	case bundle.ArgoCDOCI, bundle.ArgoCDGit:
		b.Expectation.Delivered = testkit.MustDeliver("*Application root", "Application web", "Application own")
		b.Expectation.Delivered[1].ValuesSource = d.Name() == bundle.ArgoCDGit
	case bundle.FluxOCI:
		b.Expectation.Delivered = testkit.MustDeliver("OCIRepository aicr-bundle", "*Kustomization aicr-demo", "ArtifactGenerator own", "HelmRelease web", "HelmRelease own")
	}
	pushedBundle, err := publish.PublishBundle(t.Context(), b, repo+":1", publish.Own())
	if err != nil {
		t.Fatal(err)
	}
	if bundle.ByGit(d.Name()) {
		repo = "http://" + reg.PullHost() + "/aicr/demo.git"
		pushedBundle = publish.Published{URL: repo, Tag: "1", Digest: "sha1:" + strings.Repeat("c", 40)}
	}
	reg.Stop() // the published digests are known, and not read again
	return &lane.Env{
		Registry: reg, Bundle: b, Clients: &infra.Clients{Kube: kube}, Published: []publish.Published{pushedChart, pushedBundle},
		Input: bundle.Input{Recipe: &recipe.Result{Metadata: recipe.Metadata{Name: "demo"}}, RepoURL: repo, TargetRevision: "1", ChartRepository: "oci://" + reg.PullHost() + "/charts"},
	}
}

func stored(name, version string, revision int, status helmrelease.Status) *helmrelease.Release {
	return &helmrelease.Release{
		Name: name, Namespace: testkit.TestNamespace, Version: revision, Info: &helmrelease.Info{Status: status},
		Chart: &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: version}}, Manifest: "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n",
	}
}

func readBack(t *testing.T, d string, env *lane.Env) []string {
	t.Helper()
	rec, err := NewLane(deployers(t, d)[0]).ReadBack(t.Context(), env)
	if err != nil {
		t.Fatalf("%s: %v", d, err)
	}
	f := lane.Mismatch(rec.Want, rec.Got)
	if f == nil {
		return nil
	}
	return f.Details()
}

func TestHelmReadBack(t *testing.T) {
	good := []*helmrelease.Release{stored("web", "1.0.0", 1, helmrelease.StatusDeployed), stored("own", "0.1.0", 1, helmrelease.StatusDeployed)}
	env := readBackEnv(t, deployers(t, bundle.Helm)[0], good)
	testkit.WantEach(t, "good", readBack(t, bundle.Helm, env), nil)
	rec, err := NewLane(deployers(t, bundle.Helm)[0]).ReadBack(t.Context(), env)
	if err != nil || len(rec.Objects) != 2 || rec.Objects[0].Namespace != testkit.TestNamespace {
		t.Errorf("got objects %v, %v; want the releases' own, in their namespace", rec.Objects, err)
	}
	// The newest revision counts; a digest behind a version is Flux's alone.
	env = readBackEnv(t, deployers(t, bundle.Helm)[0], []*helmrelease.Release{
		stored("web", "1.0.0", 1, helmrelease.StatusDeployed), stored("web", "1.0.0", 2, helmrelease.StatusFailed), stored("own", "0.1.0+abc", 1, helmrelease.StatusDeployed),
	})
	testkit.WantEach(t, "bad", readBack(t, bundle.Helm, env), []string{"ns/web: status: want deployed, got failed", "ns/own: version: want 0.1.0, got 0.1.0+abc"})
}

func TestArgoCDReadBack(t *testing.T) {
	var digests = map[string]string{}
	app := func(name, source, revision, path, release string) *unstructured.Unstructured {
		o := testkit.Parsed(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {}, destination: {}}, status: {resources: [
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
			set(testkit.TestNamespace, "spec", "destination", "namespace")
		}
		set(digests[source], "status", "sync", "revision")
		set(digests[source], "status", "operationState", "syncResult", "revision")
		return o
	}
	env := readBackEnv(t, deployers(t, bundle.ArgoCDOCI)[0], nil)
	chartURL := env.Input.ChartRepository + "/web"
	for url, tag := range map[string]string{chartURL: "1.0.0", env.Input.RepoURL: "1"} {
		d, err := env.PublishedDigest(url, tag)
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
		testkit.WantEach(t, what, readBack(t, bundle.ArgoCDOCI, env), says)
	}
	good := apps()
	check("good", nil, good...)
	if refs := argocd.ApplicationObjects(good[1]); len(refs) != 1 || refs[0].Name != "a" {
		t.Errorf("got objects %v, want the tracked one and no hook", refs)
	}
	check("missing", []string{"Application argocd/own: missing (expected source"}, good[0], good[1])
	check("too many", []string{"Application argocd/ghost: unexpected (found"}, append(apps(), app("ghost", chartURL, "1.0.0", ".", "ghost"))...)
	other := apps()
	_ = unstructured.SetNestedField(other[1].Object, "0.9.0", "spec", "source", "targetRevision")
	_ = unstructured.SetNestedField(other[2].Object, "sha256:0", "status", "operationState", "syncResult", "revision")
	if _, err := env.PublishedDigest(chartURL, "9.9.9"); err == nil || !strings.Contains(err.Error(), "/charts/web with the version 9.9.9") {
		t.Errorf("what was not published: %v", err)
	}
	check("others", []string{"argocd/web: version: want 1.0.0, got 0.9.0", "argocd/own: synced revision: want sha256:"}, other...)
}

func TestFluxReadBack(t *testing.T) {
	releases := []*helmrelease.Release{stored("web", "1.0.0", 1, helmrelease.StatusDeployed), stored("own", "0.1.0+abc", 1, helmrelease.StatusDeployed)}
	hr := func(name, version string) *unstructured.Unstructured {
		return testkit.Parsed(t, `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: `+name+`, namespace: flux-system},
  status: {history: [{name: `+name+`, namespace: ns, chartName: `+name+`, chartVersion: `+version+`, status: deployed}, {name: `+name+`, chartVersion: old}]}}`)
	}
	generator := testkit.Parsed(t, `{apiVersion: source.extensions.fluxcd.io/v1beta1, kind: ArtifactGenerator, metadata: {name: own, namespace: flux-system}}`)
	kustomization := testkit.Parsed(t, `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: aicr-demo, namespace: flux-system}, status: {}}`)
	for name, tc := range map[string]struct {
		objs []runtime.Object
		says []string
	}{
		"good":         {[]runtime.Object{hr("web", "1.0.0"), hr("own", "0.1.0+abc"), generator}, nil},
		"missing":      {[]runtime.Object{hr("web", "1.0.0"), generator}, []string{"HelmRelease flux-system/own: missing (expected release ns/own"}},
		"one too many": {[]runtime.Object{hr("web", "1.0.0"), hr("own", "0.1.0+abc"), hr("ghost", "1"), generator}, []string{"HelmRelease flux-system/ghost: unexpected (found"}},
		"a digest behind the version of a chart that is not in the bundle": {
			[]runtime.Object{hr("web", "1.0.0+abc"), hr("own", "0.2.0+abc")},
			[]string{"flux-system/web: version: want 1.0.0, got 1.0.0+abc", "flux-system/own: version: want 0.1.0, got 0.2.0+abc", "ArtifactGenerator flux-system/own: missing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := readBackEnv(t, deployers(t, bundle.FluxOCI)[0], releases)
			digest, err := env.PublishedDigest(env.Input.RepoURL, "1")
			if err != nil {
				t.Fatal(err)
			}
			k := kustomization.DeepCopy()
			_ = unstructured.SetNestedField(k.Object, "1@"+digest, "status", "lastAppliedRevision")
			source := testkit.Parsed(t, `{apiVersion: source.toolkit.fluxcd.io/v1, kind: OCIRepository, metadata: {name: aicr-bundle, namespace: flux-system}, spec: {url: "`+env.Input.RepoURL+`"}, status: {artifact: {revision: "1@`+digest+`"}}}`)
			env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), fluxLists, append(tc.objs, k, source)...)
			got := readBack(t, bundle.FluxOCI, env)
			testkit.WantEach(t, name, got, tc.says)
		})
	}
}

var fluxLists = map[schema.GroupVersionResource]string{
	infra.HelmReleaseGVR: "HelmReleaseList", infra.KustomizationGVR: "KustomizationList", infra.ArtifactGeneratorGVR: "ArtifactGeneratorList",
	infra.OCIRepositoryGVR: "OCIRepositoryList", infra.GitRepositoryGVR: "GitRepositoryList",
}

// What Flux has fetched and applied from Git is the commit that was pushed, from the repository that
// it was pushed to.
func TestFluxGitReadBack(t *testing.T) {
	for name, tc := range map[string]struct {
		url, fetched, applied string
		says                  []string
	}{
		"good":               {"", "c", "c", nil},
		"another commit":     {"", "d", "c", []string{"GitRepository flux-system/aicr-bundle: fetched revision: want 1@sha1:cccc"}},
		"not applied":        {"", "c", "d", []string{"Kustomization flux-system/aicr-demo: applied revision: want 1@sha1:cccc"}},
		"another repository": {"http://example.org/x.git", "c", "c", []string{"GitRepository flux-system/aicr-bundle: source: want http://127.0.0.1:"}},
	} {
		t.Run(name, func(t *testing.T) {
			env := readBackEnv(t, deployers(t, bundle.FluxGit)[0], nil)
			env.Bundle.Expectation = bundle.Expectation{Delivered: testkit.MustDeliver("GitRepository aicr-bundle", "*Kustomization aicr-demo")}
			revision := func(of string) string { return "1@sha1:" + strings.Repeat(of, 40) }
			objs := []runtime.Object{
				testkit.Parsed(t, `{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: aicr-bundle, namespace: flux-system}, spec: {url: "`+cmp.Or(tc.url, env.Input.RepoURL)+`"}, status: {artifact: {revision: "`+revision(tc.fetched)+`"}}}`),
				testkit.Parsed(t, `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: aicr-demo, namespace: flux-system}, status: {lastAppliedRevision: "`+revision(tc.applied)+`"}}`),
			}
			env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), fluxLists, objs...)
			testkit.WantEach(t, name, readBack(t, bundle.FluxGit, env), tc.says)
		})
	}
}

// An Application with values from Git has synced the chart that was pushed and the commit that was
// pushed; the root's source is the Git repository.
func TestArgoCDGitReadBack(t *testing.T) {
	env := readBackEnv(t, deployers(t, bundle.ArgoCDGit)[0], nil)
	chartURL, repo, commit := env.Input.ChartRepository+"/web", env.Input.RepoURL, strings.Repeat("c", 40)
	digest, err := env.PublishedDigest(chartURL, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	one := func(name, path, release string) string {
		return `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: ` + name + `, namespace: argocd}, spec: {destination: {namespace: ns}, source: {repoURL: "` + repo + `", targetRevision: "1", path: ` + path + release + `}},
  status: {sync: {revision: ` + commit + `}, operationState: {syncResult: {revision: ` + commit + `}}}}`
	}
	two := func(values, synced string) string {
		return `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web, namespace: argocd}, spec: {destination: {namespace: ns}, sources: [
  {repoURL: "` + chartURL + `", targetRevision: 1.0.0, path: ., helm: {releaseName: web, valueFiles: [$values/web/values.yaml]}}, {repoURL: "` + values + `", targetRevision: "1", ref: values}]},
  status: {sync: {revisions: ["` + digest + `", ` + commit + `]}, operationState: {syncResult: {revisions: ["` + digest + `", ` + synced + `]}}}}`
	}
	for name, tc := range map[string]struct {
		web  string
		says []string
	}{
		"good":                    {two(repo, commit), nil},
		"values of another place": {two("http://example.org/x.git", commit), []string{"argocd/web: source: want " + chartURL + " and " + repo}},
		"values of another time":  {two(repo, strings.Repeat("d", 40)), []string{"argocd/web: synced revision: want " + digest + " and cccc"}},
		"no values":               {one("web", ".", ""), []string{"argocd/web: source: want ", "argocd/web: version", "argocd/web: path", "argocd/web: synced", "argocd/web: compared"}},
	} {
		list := []runtime.Object{testkit.Parsed(t, one("root", ".", "")), testkit.Parsed(t, one("own", "own/chart", ", helm: {releaseName: own}")), testkit.Parsed(t, tc.web)}
		kinds := map[schema.GroupVersionResource]string{infra.ApplicationGVR: "ApplicationList"}
		env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, list...)
		testkit.WantEach(t, name, readBack(t, bundle.ArgoCDGit, env), tc.says)
	}
}

// Records that differ are findings with their objects.
func TestMismatchFields(t *testing.T) {
	release := result.Ref{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: "flux-system", Name: "b"}
	want := []lane.Delivery{lane.HelmDelivery("ns", "a", "a", "1", "deployed"), lane.Delivered(release, lane.Fact{Name: "version", Value: "1"}, lane.Fact{Name: "status", Value: "deployed"})}
	testkit.WantOutline(t, "records that differ", lane.Mismatch(want, nil), "Helm release ns/a + HelmRelease.helm.toolkit.fluxcd.io flux-system/b")
}
