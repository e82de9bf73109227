package app

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

const webLabelled = `apiVersion: apps/v1
kind: Deployment
metadata: {name: worker, namespace: web}
spec:
  template:
    spec:
      containers: [{name: a, image: b}]
`

// overlaid is a fleet in Flux's usual layout: a cluster's directory with Flux's own installation, and
// an environment that patches a base.
func overlaid(over map[string]string) map[string]string {
	files := flux(map[string]string{
		"apps/web.yaml": "", "apps/left-out.yaml": "",
		"cluster/flux-system/gotk-components.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: helm-controller, namespace: flux-system, labels: {app.kubernetes.io/part-of: flux}}\n",
		"cluster/flux-system/gotk-sync.yaml":       "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {url: 'ssh://git@example.com/team/apps', secretRef: {name: flux-system}}\n",
		"cluster/flux-system/kustomization.yaml":   "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [gotk-components.yaml, gotk-sync.yaml]\n",
		"apps/kustomization.yaml":                  "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- ../stage/web\n- worker.yaml\npatches:\n- path: web.yaml\n  target: {kind: HelmRelease}\n- target: {kind: HelmRelease}\n  patch: |-\n    - {op: add, path: /spec/values/zone, value: west}\n",
		"apps/worker.yaml":                         webLabelled,
		"stage/web/web.yaml":                       webRelease + "  valuesFrom:\n  - {kind: ConfigMap, name: web-values}\n",
		"stage/web/more.yaml":                      "size: 3\n",
		"stage/web/names.yaml":                     "nameReference:\n- kind: ConfigMap\n  fieldSpecs: [{path: spec/valuesFrom/name, kind: HelmRelease}]\n",
		"stage/web/kustomization.yaml":             "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: web\nresources: [web.yaml]\nconfigurations: [names.yaml]\nconfigMapGenerator:\n- {name: web-values, files: [values.yaml=more.yaml]}\n",
	})
	files["apps/web.yaml"] = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  values:\n    color: red\n"
	return with(files, over)
}

//go:embed testdata/objects/apps_chart.yaml
var appsChart string

//go:embed testdata/objects/set_of_directories.yaml
var setOfDirectories string

//go:embed testdata/objects/set_of_environments.yaml
var setOfEnvironments string

// directoryOfApps has an Application for a directory of Applications, which Argo CD reads as the field directory says.
func directoryOfApps(directory string) map[string]string {
	root := strings.NewReplacer("name: web", "name: root", "path: charts/web", "path: apps\n    directory: "+directory).Replace(strings.Split(webApp, "    helm:")[0])
	return argo(map[string]string{"root.yaml": root, "apps/redis.yaml": "", "apps/team/redis.yaml": redisApp, "apps/drafts/web.yaml": "kind: [\n"})
}

// The layouts that repositories have: overlays, Applications in a chart, and ApplicationSets. Values
// that a patch sets have the line of the patch.
func TestOpen_Layouts(t *testing.T) {
	manifests := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../base]\nnamePrefix: a-\n"
	for name, tc := range map[string]struct {
		files    map[string]string
		path     string
		releases []string
		of       string
		origins  map[string]string // of the values of the release of
	}{
		"a cluster of Flux with overlays": {
			files: overlaid(nil), path: "cluster", releases: []string{"redis redis", "web web", "apps default"}, of: "web",
			origins: map[string]string{"replicas": "stage/web/web.yaml:11", "color": "apps/web.yaml:6", "zone": "apps/kustomization.yaml:11"},
		},
		"an overlay by itself": {files: overlaid(nil), path: "apps", releases: []string{"web web"}, of: "web", origins: map[string]string{"color": "apps/web.yaml:6"}},
		"a directory of Kustomize": {
			files: argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": strings.Replace(strings.Split(webApp, "    helm:")[0], "charts/web", "over", 1), "base/kustomization.yaml": "resources: [worker.yaml]\n", "base/worker.yaml": webLabelled, "over/kustomization.yaml": manifests}),
			path:  "apps", releases: []string{"web web"},
		},
		"Applications in a chart": {
			files: argo(map[string]string{"root.yaml": strings.NewReplacer("name: web", "name: root", "charts/web", "apps", "[../../env/test.yaml]", "[values.yaml]", "text: a", "size: 4").Replace(webApp), "apps/redis.yaml": "", "apps/web.yaml": "",
				"apps/Chart.yaml": webChart, "apps/values.yaml": "repo: https://example.com/team/apps.git\n", "apps/templates/web.yaml": appsChart}),
			path: "root.yaml", releases: []string{"web web"}, of: "web", origins: map[string]string{"size": "apps/templates/web.yaml:12"},
		},
		"Applications in a chart with values files that may be missing": {
			files: argo(map[string]string{"root.yaml": strings.NewReplacer("name: web", "name: root", "charts/web", "apps", "[../../env/test.yaml]", "[none.yaml, values.yaml]\n      ignoreMissingValueFiles: true", "text: a", "size: 4").Replace(webApp), "apps/redis.yaml": "", "apps/web.yaml": "",
				"apps/Chart.yaml": webChart, "apps/values.yaml": "repo: https://example.com/team/apps.git\n", "apps/templates/web.yaml": appsChart}),
			path: "root.yaml", releases: []string{"web web"},
		},
		"a chart of Applications": {
			files: argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": "", "stack/Chart.yaml": webChart, "stack/values.yaml": "repo: https://example.com/team/apps.git\nsize: 4\n", "stack/templates/web.yaml": appsChart, "stack/templates/worker.yaml": webLabelled}),
			path:  "stack", releases: []string{"stack default", "web web"}, of: "web", origins: map[string]string{"size": "stack/templates/web.yaml:12"},
		},
		"an artifact of another's generator": {
			files: flux(map[string]string{"cluster/apps.yaml": strings.Replace(flux(nil)["cluster/apps.yaml"], "path: ./apps\n  sourceRef: {kind: GitRepository, name: flux-system}", "path: ./deploy\n  sourceRef: {kind: ExternalArtifact, name: made}", 1),
				"cluster/made.yaml": "apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nmetadata: {name: g, namespace: flux-system}\nspec:\n  sources: [{alias: repo, kind: GitRepository, name: flux-system}]\n  artifacts:\n  - {name: other, copy: [{from: '@repo/base/**', to: '@artifact/deploy/'}]}\n  - {name: made, copy: [{from: '@repo/base/**', to: '@artifact/'}, {from: '@repo/apps/**', to: '@artifact/deploy/'}]}\n"}),
			path: "cluster", releases: []string{"redis redis", "web web"}, of: "web",
		},
		"a chart of HelmReleases": {
			files: map[string]string{".git/config": gitConfig, "apps/Chart.yaml": webChart, "apps/templates/web.yaml": webRelease, "charts/web/Chart.yaml": webChart, "charts/web/templates/web.yaml": webLabelled,
				"apps/templates/source.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {url: 'https://example.com/team/apps'}\n"},
			path: "apps", releases: []string{"web web"}, of: "web", origins: map[string]string{"replicas": "apps/templates/web.yaml:11"},
		},
		"a directory of Applications, and none of its own": {files: directoryOfApps("{}"), path: "root.yaml", releases: []string{"web web"}},
		"a directory with others":                          {files: directoryOfApps("{recurse: true, exclude: '{drafts/*,*.md}'}"), path: "root.yaml", releases: []string{"redis redis", "web web"}},
		"a directory of manifests, with some left out": {
			files: argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": strings.Replace(strings.Split(webApp, "    helm:")[0], "path: charts/web", "path: plain\n    directory: {include: '*.json'}", 1),
				"plain/worker.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}`, "plain/other.yaml": "kind: [\n"}),
			path: "apps", releases: []string{"web web"},
		},
		"an ApplicationSet of directories": {
			files: argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": setOfDirectories, "charts/other/Chart.yaml": webChart}), path: "apps", releases: []string{"web web"}, of: "web",
			origins: map[string]string{"zone": "apps/web.yaml:18"},
		},
		"an ApplicationSet of environments": {
			files: argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": setOfEnvironments}), path: "apps", releases: []string{"web-dev dev", "web-qa qa"}, of: "web-qa",
			origins: map[string]string{"zone": "apps/web.yaml:20"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if base, ok := tc.files["cluster/base.yaml"]; ok {
				tc.files["cluster/base.yaml"] = base + "  wait: true\n"
			}
			dir := repo(t, tc.files)
			b, err := open(t, filepath.Join(dir, tc.path), "")
			if err != nil {
				t.Fatal(err)
			}
			components, _ := b.Components()
			var releases []string
			for _, c := range components {
				releases = append(releases, c.Name+" "+c.Namespace)
				for at, want := range tc.origins {
					if got := c.Origins[at].String(); c.Name == tc.of && got != filepath.Join(dir, want) {
						t.Errorf("origin of %s: got %q, want %q", at, got, want)
					}
				}
				if c.Name == "apps" && !slices.Contains(c.DependencyRefs, "redis") {
					t.Errorf("the objects of the Kustomization apps wait for %q, want redis", c.DependencyRefs)
				}
				if c.Name == "web" && tc.path == "cluster" && c.Values["size"] == nil && strings.Contains(name, "overlays") {
					t.Errorf("the values of web lack those of the ConfigMap: %v", c.Values)
				}
			}
			if !slices.Equal(releases, tc.releases) {
				t.Errorf("releases: got %q, want %q", releases, tc.releases)
			}
		})
	}
}

// What depends on more than the repository, or would change what is applied without being
// understood, is refused with its line.
func TestOpen_LayoutsRefused(t *testing.T) {
	set := func(from, to string) map[string]string {
		return argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": strings.Replace(setOfDirectories, from, to, 1)})
	}
	for name, tc := range map[string]struct {
		files map[string]string
		path  string
		want  []string
	}{
		"pull requests":                {files: set("- git:", "- pullRequest:"), path: "apps", want: []string{"web.yaml:7", "pullRequest"}},
		"another repository":           {files: set("team/apps.git", "team/other.git"), path: "apps", want: []string{"web.yaml:8", "not this checkout"}},
		"no directory":                 {files: set("charts/*", "none/*"), path: "apps", want: []string{"web.yaml:7", "generates no Application"}},
		"a parameter of nothing":       {files: set("{{.path.path}}", "{{.path.nowhere}}"), path: "apps", want: []string{"web.yaml:11", "{{.path.nowhere}} has no value"}},
		"a template that is none":      {files: set("{{.path.path}}", "{{.path"), path: "apps", want: []string{"web.yaml:11", "ApplicationSet set"}},
		"an endless template":          {files: set("{{.path.path}}", `{{ env "HOME" }}`), path: "apps", want: []string{"web.yaml:11", `function "env" not defined`}},
		"two Applications of one name": {files: with(set("name: '{{.path.basename}}'", "name: web"), map[string]string{"charts/two/Chart.yaml": webChart}), path: "apps", want: []string{"web.yaml:11", "generates several Applications with the name web, and Argo CD creates none of them"}},
		"a misspelt parameter": {
			files: argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": strings.Replace(setOfEnvironments, "values.zone", "values.zoen", 1)}), path: "apps", want: []string{"web.yaml:11", "{{values.zoen}}", "values.zone"},
		},
		"a patch without its place": {files: overlaid(map[string]string{"apps/kustomization.yaml": "resources: [worker.yaml]\npatches: [{target: {kind: Deployment}, patch: '[{op: remove, path: /spec/none}]'}]\n"}), path: "cluster", want: []string{"apps/kustomization.yaml", "does not build", "/spec/none"}},
		"a suspended Kustomization": {files: overlaid(map[string]string{"cluster/base.yaml": strings.Replace(flux(nil)["cluster/base.yaml"], "interval: 10m", "suspend: true", 1)}), path: "cluster", want: []string{"apps.yaml:8", "Kustomization base (", "which is suspended"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, filepath.Join(repo(t, tc.files), tc.path), bundle.ArgoCDGit)
			if tc.path == "cluster" {
				_, err = open(t, filepath.Join(repo(t, tc.files), tc.path), bundle.FluxGit)
			}
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}

// A generator that matches nothing beside one that does is said.
func TestOpen_GeneratorOfNothing(t *testing.T) {
	files := argo(map[string]string{"apps/redis.yaml": "", "apps/web.yaml": strings.Replace(setOfDirectories, "  generators:\n", "  generators:\n  - git: {repoURL: 'https://example.com/team/apps.git', directories: [{path: none/*}]}\n", 1)})
	a, err := FindApp(t.Context(), filepath.Join(repo(t, files), "apps"), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLayout(t.Context(), a.repo)
	if err := l.applications(a); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(l.notVerified, func(line string) bool { return strings.Contains(line, "web.yaml:7) matches nothing here") }) {
		t.Errorf("got %q", l.notVerified)
	}
}
