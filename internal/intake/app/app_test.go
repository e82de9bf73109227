package app

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// repo writes files into a directory of its own, which is the repository.
func repo(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// open finds and opens the app at a path for the lane; an empty one is the app's own.
func open(t *testing.T, at, lane string, values ...string) (*intake.Bundle, error) {
	t.Helper()
	a, err := FindApp(t.Context(), at, values)
	if err != nil {
		return nil, err
	}
	if lane == "" {
		lane = a.Deployer
	}
	d, err := bundle.ByName([]string{lane})
	if err != nil {
		t.Fatal(err)
	}
	return a.Open(t.Context(), d[0])
}

const (
	webChart    = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
	webTemplate = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Release.Name }}}\nspec: {replicas: {{ .Values.replicas }}}\n"
	gitConfig   = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.com:team/apps.git\n"

	// webHelm is of a chart only.
	webHelm  = "    helm:\n      valueFiles: [../../env/test.yaml]\n      values: |\n        text: a\n        other: b\n"
	redisApp = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: redis, annotations: {argocd.argoproj.io/sync-wave: "-1"}}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: redis}
  sources:
  - {repoURL: registry.example.com/charts, chart: redis, targetRevision: 1.2.3, helm: {valueFiles: [$here/env/redis.yaml]}}
  - {repoURL: https://example.com/team/apps.git, targetRevision: main, ref: here}
`
)

//go:embed testdata/objects/web_app.yaml
var webApp string

// argo is a repository with two Applications; over replaces or adds files, "" removes one.
func argo(over map[string]string) map[string]string {
	files := map[string]string{
		".git/config": gitConfig, "apps/web.yaml": webApp, "apps/redis.yaml": redisApp, "charts/web/Chart.yaml": webChart,
		"charts/web/values.yaml": "replicas: 1\n", "charts/web/templates/web.yaml": webTemplate, "env/test.yaml": "replicas: 3\n", "env/redis.yaml": "auth:\n  enabled: true\n",
	}
	return with(files, over)
}

func with(files, over map[string]string) map[string]string {
	for name, text := range over {
		if files[name] = text; text == "" {
			delete(files, name)
		}
	}
	return files
}

//go:embed testdata/objects/web_release.yaml
var webRelease string

// ociRedis is redis with its chart from an OCIRepository, as chartRef names it.
//
//go:embed testdata/objects/oci_redis.yaml
var ociRedis string

// sopsSecret is a Secret as SOPS encrypts it in repositories of Flux.
const sopsSecret = `apiVersion: v1
kind: Secret
metadata: {name: a}
stringData:
  password: ENC[AES256_GCM,data:p673w==,iv:YY=,aad:UQ=,tag:A=,type:str]
sops: {mac: "ENC[AES256_GCM,data:p673w==]", encrypted_regex: ^(data|stringData)$}
`

// helmfile is a repository with a helmfile of two releases.
func helmfile(over map[string]string) map[string]string {
	return with(map[string]string{
		"charts/web/Chart.yaml": webChart, "charts/web/values.yaml": "replicas: 1\n", "charts/web/templates/web.yaml": webTemplate, "env/test.yaml": "replicas: 3\n",
		"helmfile.yaml": `environments: {default: {values: [{a: b}]}}
---
repositories:
- {name: charts, url: https://charts.example.com, username: me}
releases:
- name: redis
  namespace: cache
  chart: charts/redis
  version: 1.x
- {name: gone, chart: charts/gone, installed: false}
- name: web
  namespace: web
  chart: ./charts/web
  labels: {tier: front}
  values:
  - env/test.yaml
  - zone: west
  set: [{name: size, value: 3}]
  needs: [cache/redis]
`,
	}, over)
}

// plain is a repository of manifests and an overlay of them, without a deployer's objects.
func plain() map[string]string {
	return map[string]string{
		"k8s/a.yaml":                 "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ a }}'}\n---\n" + plainDeployment,
		"k8s/b.yaml":                 "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n",
		"overlay/kustomization.yaml": "namePrefix: prod-\nresources: [web.yaml]\npatches:\n- path: patch.yaml\n", "overlay/web.yaml": "# first\n" + plainDeployment,
		"overlay/patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: front}\nspec:\n  template:\n    spec:\n      nodeSelector: {disk: nvme}\n",
	}
}

//go:embed testdata/objects/plain_deployment.yaml
var plainDeployment string

// flux is a repository whose cluster directory has two Kustomizations, of which one is after the other.
func flux(over map[string]string) map[string]string {
	kustomization := func(name, more string) string {
		return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name + ", namespace: flux-system}\nspec:\n  interval: 10m\n  path: ./" + name + "\n  sourceRef: {kind: GitRepository, name: flux-system}\n" + more
	}
	return with(map[string]string{
		".git/config": gitConfig, "cluster/base.yaml": kustomization("base", ""), "cluster/apps.yaml": kustomization("apps", "  dependsOn: [{name: base}]\n"), "apps/web.yaml": webRelease,
		"apps/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [web.yaml]\n", "apps/left-out.yaml": strings.ReplaceAll(webRelease, "web", "unused"),
		"base/redis.yaml": `apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {url: https://charts.example.com}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: redis, namespace: flux-system}
spec:
  targetNamespace: redis
  chart: {spec: {chart: redis, version: 1.2.3, sourceRef: {kind: HelmRepository, name: charts}}}
`,
		"charts/web/Chart.yaml": webChart, "charts/web/values.yaml": "replicas: 1\n", "charts/web/templates/web.yaml": webTemplate,
	}, over)
}

// substituted is a repository with variables in the HelmRelease web, for its Kustomization.
func substituted(post string) map[string]string {
	files := flux(nil)
	files["cluster/apps.yaml"] += post
	files["apps/web.yaml"] = strings.NewReplacer("namespace: web}", "namespace: '${WHERE:=web}'}", "replicas: 4\n", "replicas: ${N}\n    greeting: 'to ${WHERE:=web} $${N}'\n").Replace(webRelease)
	return files
}

// What a Kustomization's variables make of values has the type that Flux gives it.
func TestOpen_Substituted(t *testing.T) {
	for post, want := range map[string]string{
		"  postBuild: {substitute: {N: \"7\"}}\n":              "7 to web ${N}",
		"  postBuild: {substitute: {N: '', WHERE: there}}\n":   "<nil> to there ${N}",
		"  postBuild: {substitute: {N: '\"7\"', WHERE: ''}}\n": `"7" to web ${N}`,
		"": "${N} to ${WHERE:=web} $${N}",
	} {
		files := substituted(post)
		if post == "" {
			files["apps/web.yaml"] = strings.Replace(files["apps/web.yaml"], "'${WHERE:=web}'", "web", 1)
		}
		b, err := open(t, filepath.Join(repo(t, files), "cluster"), "")
		if err != nil {
			t.Errorf("%s: %v", post, err)
			continue
		}
		components, _ := b.Components()
		web := components[slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == "web" })]
		replicas := fmt.Sprint(web.Values["replicas"])
		if s, ok := web.Values["replicas"].(string); ok && s != "${N}" {
			replicas = strconv.Quote(s)
		}
		if got := replicas + " " + fmt.Sprint(web.Values["greeting"]); got != want {
			t.Errorf("%s: got %s, want %s", post, got, want)
		}
	}
}

// Each form is laid out as a bundle, whose values lead back to the repository's own files and lines.
func TestOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		files      map[string]string
		path, lane string
		values     []string
		// releases are NAME NAMESPACE and the release's name in Helm, in order; origins are of the
		// values of the release web.
		releases []string
		origins  map[string]string
		chart    string // of redis
	}{
		"a chart with values": {
			files: argo(nil), path: "charts/web", values: []string{"env/test.yaml"},
			releases: []string{"web default"}, origins: map[string]string{"replicas": "env/test.yaml:1"},
		},
		"two Applications": {
			files: argo(nil), path: "apps", releases: []string{"redis redis", "web web"}, chart: "oci://registry.example.com/charts redis 1.2.3",
			origins: map[string]string{"replicas": "env/test.yaml:1", "other": "apps/web.yaml:15"},
		},
		"parameters and overrides": {
			files: argo(map[string]string{
				"apps/web.yaml":                      strings.Replace(webApp, "      values: |", "      ignoreMissingValueFiles: true\n      parameters:\n      - {name: text, value: from the Application}\n      values: |", 1),
				"env/test.yaml":                      "",
				"charts/web/.argocd-source-web.yaml": "# of the image updater\nhelm:\n  parameters:\n  - {name: image.tag, value: \"2\"}\n",
				"charts/web/.argocd-source-db.yaml":  "plugin: {name: of another Application}\n",
			}), path: "apps/web.yaml", releases: []string{"web web"},
			origins: map[string]string{"image.tag": "charts/web/.argocd-source-web.yaml:4", "text": "apps/web.yaml:17", "other": "apps/web.yaml:18"},
		},
		"a parameter": {
			files: argo(map[string]string{"apps/web.yaml": webApp + "      parameters:\n      - {name: replicas, value: \"5\"}\n"}), path: "apps/web.yaml", releases: []string{"web web"},
			origins: map[string]string{"replicas": "apps/web.yaml:17", "text": "apps/web.yaml:14"},
		},
		"one Application": {files: argo(nil), path: "apps/web.yaml", lane: bundle.ArgoCDOCI, releases: []string{"web web"}, origins: map[string]string{"text": "apps/web.yaml:14"}},
		"an Application of Applications": {
			files: argo(map[string]string{"root.yaml": strings.NewReplacer("name: web", "name: root", "charts/web", "apps", webHelm, "").Replace(webApp)}), path: "root.yaml",
			releases: []string{"redis redis", "web web"}, chart: "oci://registry.example.com/charts redis 1.2.3",
		},
		"a repository with its root": {
			files: argo(map[string]string{"root/root.yaml": strings.NewReplacer("name: web", "name: root", "charts/web", "apps", webHelm, "").Replace(webApp)}), path: ".",
			releases: []string{"redis redis", "web web"}, chart: "oci://registry.example.com/charts redis 1.2.3",
		},
		"manifests":          {files: plain(), path: "k8s", releases: []string{"k8s default"}},
		"one manifest":       {files: plain(), path: "k8s/a.yaml", releases: []string{"a default"}},
		"manifests, Argo CD": {files: plain(), path: "k8s", lane: bundle.ArgoCDOCI, releases: []string{"k8s default"}},
		"manifests, Flux":    {files: plain(), path: "k8s", lane: bundle.FluxGit, releases: []string{"k8s default"}},
		"an overlay":         {files: plain(), path: "overlay", releases: []string{"overlay default"}},
		"a directory of manifests": {
			files: argo(map[string]string{"apps/web.yaml": strings.Replace(strings.Split(webApp, "    helm:")[0], "charts/web", "plain", 1), "plain/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ a }}'}\n"}),
			path:  "apps/web.yaml", releases: []string{"web web"},
		},
		"Kustomizations of Flux": {
			files: flux(nil), path: "cluster", releases: []string{"redis redis redis-redis", "web web"}, chart: "https://charts.example.com redis 1.2.3",
			origins: map[string]string{"replicas": "apps/web.yaml:11"},
		},
		"what Argo CD takes without a word, too": {
			files: argo(map[string]string{"apps/web.yaml": strings.Replace(webApp, "    helm:\n", "    helm:\n      version: v3\n      skipCrds: false\n", 1)}), path: "apps/web.yaml", releases: []string{"web web"},
		},
		"values that are optional": {
			files: flux(map[string]string{"apps/web.yaml": strings.Replace(webRelease, "  values:", "  valuesFrom: [{kind: ConfigMap, name: a, optional: true}]\n  values:", 1)}), path: "cluster",
			releases: []string{"redis redis redis-redis", "web web"}, chart: "https://charts.example.com redis 1.2.3", origins: map[string]string{"replicas": "apps/web.yaml:12"},
		},
		"variables of Kustomizations": {
			files: with(substituted("  postBuild:\n    substitute: {N: \"7\"}\n    substituteFrom: [{kind: ConfigMap, name: vars}, {kind: Secret, name: none, optional: true}]\n"), map[string]string{
				"cluster/vars.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {N: \"9\", WHERE: web}\n",
			}), path: "cluster", releases: []string{"redis redis redis-redis", "web web"}, chart: "https://charts.example.com redis 1.2.3",
			origins: map[string]string{"replicas": "apps/web.yaml:11", "greeting": "apps/web.yaml:12"},
		},
		"a range of versions": {
			files: argo(map[string]string{"apps/redis.yaml": strings.Replace(redisApp, "1.2.3", "\">=1.2 <2\"", 1)}), path: "apps", releases: []string{"redis redis", "web web"}, chart: "oci://registry.example.com/charts redis >=1.2 <2",
		},
		"a range of tags": {
			files: flux(map[string]string{"base/redis.yaml": strings.Replace(ociRedis, "tag: 1.2.3", "semver: 1.x", 1)}), path: "cluster", releases: []string{"redis redis redis-redis", "web web"}, chart: "oci://charts.example.com/team redis 1.x",
		},
		"a release without a version": {
			files: flux(map[string]string{"base/redis.yaml": strings.Replace(flux(nil)["base/redis.yaml"], "version: 1.2.3, ", "", 1)}), path: "cluster", releases: []string{"redis redis redis-redis", "web web"}, chart: "https://charts.example.com redis *",
		},
		"a repository with a login": {
			files: flux(map[string]string{"base/redis.yaml": strings.Replace(flux(nil)["base/redis.yaml"], "{url: https://charts.example.com}", "{url: https://charts.example.com, secretRef: {name: a}}", 1)}), path: "cluster",
			releases: []string{"redis redis redis-redis", "web web"}, chart: "https://charts.example.com redis 1.2.3",
		},
		"the whole repository": { // what a Kustomization applies is not read beside it, without its variables and patches
			files: with(substituted("  postBuild: {substitute: {N: \"7\", WHERE: web}}\n  patches: [{target: {kind: HelmRelease}, patch: '- {op: add, path: /spec/values/zone, value: west}'}]\n"), map[string]string{"apps/kustomization.yaml": "", "apps/left-out.yaml": ""}),
			path:  ".", releases: []string{"redis redis redis-redis", "web web"}, chart: "https://charts.example.com redis 1.2.3", origins: map[string]string{"replicas": "apps/web.yaml:11", "zone": "cluster/apps.yaml:10"},
		},
		"a Secret that is encrypted": {
			files: flux(map[string]string{"apps/kustomization.yaml": "", "apps/left-out.yaml": "", "apps/secret.yaml": strings.Replace(sopsSecret, "name: a", "name: a, namespace: default", 1), "cluster/apps.yaml": flux(nil)["cluster/apps.yaml"] + "  decryption: {provider: sops, secretRef: {name: sops-age}}\n"}), path: "cluster",
			releases: []string{"redis redis redis-redis", "web web", "apps default"}, chart: "https://charts.example.com redis 1.2.3",
		},
		"a helmfile": {
			files: helmfile(nil), path: ".", releases: []string{"redis cache", "web web"}, chart: "https://charts.example.com redis 1.x",
			origins: map[string]string{"replicas": "env/test.yaml:1", "zone": "helmfile.yaml:17", "size": "helmfile.yaml:18"},
		},
		"a helmfile's templates": {
			files: helmfile(map[string]string{
				"helmfile.yaml": "", "helmfile.yaml.gotmpl": "environments:\n  default: {values: [{zone: west, tiers: [front, web], redis: {enabled: false}}]}\n---\nreleases:\n- {name: redis, chart: charts/redis, version: 1.x, condition: redis.enabled}\n" +
					"{{- range .Values.tiers }}\n- name: {{ . }}\n  namespace: web\n  chart: ./charts/web\n  values:\n  - env/values.yaml.gotmpl\n  - zone: {{ $.Values.zone }}\n{{- end }}\n",
				"env/values.yaml.gotmpl": "# of a release\nreplicas: {{ len .Release.Name }}\n", "charts/web/crds/none.txt": "",
			}),
			path: "helmfile.yaml.gotmpl", releases: []string{"front web", "web web"}, origins: map[string]string{"replicas": "env/values.yaml.gotmpl:2", "zone": "helmfile.yaml.gotmpl:12"},
		},
		"a helmfile of others": {
			files: helmfile(map[string]string{"all.yaml": "bases: [repositories.yaml]\nhelmfiles:\n- path: sub/helmfile.yaml\n- helmfile.yaml\n", "repositories.yaml": "repositories: []\n", "sub/helmfile.yaml": "releases:\n- {name: early, namespace: web, chart: ../charts/web}\n"}),
			path:  "all.yaml", releases: []string{"early web", "redis cache", "web web"}, chart: "https://charts.example.com redis 1.x", origins: map[string]string{"zone": "helmfile.yaml:17"},
		},
		"a chart of an OCIRepository": {
			files: flux(map[string]string{"base/redis.yaml": ociRedis}), path: "cluster", releases: []string{"redis redis redis-redis", "web web"},
			chart: "oci://charts.example.com/team redis 1.2.3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if base, ok := tc.files["cluster/base.yaml"]; ok {
				tc.files["cluster/base.yaml"] = base + "  wait: true\n"
			}
			dir := repo(t, tc.files)
			for i := range tc.values {
				tc.values[i] = filepath.Join(dir, tc.values[i])
			}
			b, err := open(t, filepath.Join(dir, tc.path), tc.lane, tc.values...)
			if err != nil {
				t.Fatal(err)
			}
			components, given := b.Components()
			var releases []string
			for _, c := range components {
				releases = append(releases, strings.TrimSpace(c.Name+" "+c.Namespace+" "+given[c.Name].HelmName))
				if got := c.Source + " " + c.Chart + " " + c.Version; c.Name == "redis" && got != tc.chart {
					t.Errorf("chart of redis: got %q, want %q", got, tc.chart)
				}
				for path, want := range tc.origins {
					if got := c.Origins[path].String(); c.Name == "web" && got != filepath.Join(dir, want) {
						t.Errorf("origin of %s: got %q, want %q", path, got, want)
					}
				}
			}
			if !slices.Equal(releases, tc.releases) {
				t.Errorf("releases: got %q, want %q", releases, tc.releases)
			}
			if i := slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == "web" }); tc.path == "cluster" && !slices.Equal(components[i].DependencyRefs, []string{"redis"}) {
				t.Errorf("web depends on %q, want redis", components[i].DependencyRefs)
			}
		})
	}
}

// What cannot be delivered as it is meant is refused, with the repository's file and line.
func TestOpen_Refused(t *testing.T) {
	edit := func(text string, pairs ...string) string {
		t.Helper()
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				t.Fatalf("no %q in the fixture", pairs[i])
			}
		}
		return strings.NewReplacer(pairs...).Replace(text)
	}
	inWeb := func(pairs ...string) map[string]string {
		return argo(map[string]string{"apps/web.yaml": edit(webApp, pairs...)})
	}
	release := func(pairs ...string) map[string]string {
		return flux(map[string]string{"apps/web.yaml": edit(webRelease, pairs...)})
	}
	oci := func(pairs ...string) map[string]string {
		return flux(map[string]string{"base/redis.yaml": edit(ociRedis, pairs...)})
	}
	for name, tc := range map[string]struct {
		files      map[string]string
		path, lane string
		want       []string
	}{
		"a document that is none":   {files: with(plain(), map[string]string{"k8s/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nmetadata: {name: b}\n"}), path: "k8s", want: []string{"a.yaml:5", "without apiVersion or kind"}},
		"nothing":                   {files: map[string]string{"a/values.yaml": "a: 1\n"}, path: "a", want: []string{"no object of Kubernetes", "Chart.yaml"}},
		"charts alone":              {files: map[string]string{"charts/web/Chart.yaml": webChart, "charts/web/charts/sub/Chart.yaml": webChart}, path: ".", want: []string{"of the charts below it (", "charts/web)", "helmfile.yaml"}},
		"several overlays":          {files: with(plain(), map[string]string{"base/kustomization.yaml": "resources: []\n"}), path: ".", want: []string{"pass the path of one", "base", "overlay"}},
		"manifests, another lane":   {files: plain(), path: "k8s", lane: bundle.Helmfile, want: []string{"is manifests", "not for helmfile"}},
		"no such path":              {files: argo(nil), path: "missing", want: []string{"no such file"}},
		"both":                      {files: with(argo(nil), map[string]string{"apps/flux.yaml": webRelease}), path: "apps", want: []string{"flux.yaml:1", "HelmRelease web is Flux's", "redis.yaml:1"}},
		"a lane of others":          {files: argo(nil), path: "apps", lane: bundle.FluxGit, want: []string{"is for the lane argocd-git"}},
		"a plugin":                  {files: inWeb("helm:\n", "plugin: {name: x}\n    helm:\n"), path: "apps", want: []string{"web.yaml:11", "spec.source.plugin"}},
		"Kustomize":                 {files: with(inWeb("charts/web\n"+webHelm, "k\n"), map[string]string{"k/kustomization.yaml": "resources: []\n"}), path: "apps", want: []string{"web.yaml:10", "makes no object"}},
		"another repository":        {files: inWeb("team/apps.git", "team/other.git"), path: "apps", want: []string{"web.yaml:9", "example.com/team/apps"}},
		"a path outside":            {files: inWeb("path: charts/web", "path: ../../etc"), path: "apps", want: []string{"web.yaml:10", "no directory of this repository"}},
		"values outside":            {files: inWeb("../../env/test.yaml", "../../../env/test.yaml"), path: "apps", want: []string{"web.yaml:12", "no file of this repository"}},
		"a name that leads outside": {files: inWeb("name: web,", "name: ../web,"), path: "apps", want: []string{"web.yaml:4", `"../web"`}},
		"an ApplicationSet":         {files: argo(map[string]string{"apps/set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\n"}), path: "apps", want: []string{"set.yaml:1", "ApplicationSet"}},
		"no version":                {files: argo(map[string]string{"apps/redis.yaml": edit(redisApp, "1.2.3", "stable")}), path: "apps", want: []string{"redis.yaml:8", `"stable" is neither a version`}},
		"values of a chart's own":   {files: argo(map[string]string{"apps/redis.yaml": edit(redisApp, "$here/env/redis.yaml", "prod.yaml")}), path: "apps", want: []string{"redis.yaml:8", "want $REF/PATH"}},
		"two sources without Git":   {files: argo(nil), path: "apps", lane: bundle.ArgoCDOCI, want: []string{"redis.yaml:8", "several sources"}},
		"the same name twice":       {files: argo(map[string]string{"apps/z.yaml": webApp}), path: "apps", want: []string{"z.yaml:4", "a second Application web"}},
		"a parameter":               {files: inWeb("      values: |", "      parameters: [{name: 'a[', value: b}]\n      values: |"), path: "apps", want: []string{"web.yaml:13", "parameter a["}},
		"a parameter of a revision": {files: inWeb("      values: |", "      parameters: [{name: a, value: $ARGOCD_APP_REVISION}]\n      values: |"), path: "apps", want: []string{"web.yaml:13", "write its value"}},
		"overrides with a plugin":   {files: argo(map[string]string{"charts/web/.argocd-source-web.yaml": "helm: {skipCrds: true}\nplugin: {name: x}\n"}), path: "apps", want: []string{".argocd-source-web.yaml:2", "spec.source.plugin"}},
		"overrides that are none":   {files: argo(map[string]string{"charts/web/.argocd-source.yaml": "[a]\n"}), path: "apps", want: []string{".argocd-source.yaml:1", "want one mapping"}},
		"a dependency that is absent": {
			files: argo(map[string]string{"charts/web/Chart.yaml": webChart + "dependencies:\n- {name: lib, version: 1.0.0, repository: https://charts.example.com}\n"}), path: "charts/web",
			want: []string{"charts/web/Chart.yaml:5", "lib 1.0.0", "helm dependency build"},
		},
		"a chart that is none":                   {files: inWeb("path: charts/web", "path: apps"), path: "apps/web.yaml", want: []string{"web.yaml:12", "Application web sets helm, and ", "has no Chart.yaml: Argo CD fails"}},
		"helm and a directory":                   {files: inWeb("path: charts/web", "path: apps\n    directory: {recurse: true}"), path: "apps/web.yaml", want: []string{"web.yaml:11", "sets helm and directory, and Argo CD takes one of them for a source"}},
		"a pattern that is none":                 {files: inWeb("path: charts/web\n"+webHelm, "path: apps\n    directory: {exclude: '[a'}\n"), path: "apps/web.yaml", want: []string{"web.yaml:11", "directory.exclude"}},
		"a remote base":                          {files: flux(map[string]string{"apps/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [web.yaml, 'https://example.com/base']\n"}), path: "cluster", want: []string{"kustomization.yaml:3", "remote base"}},
		"absent variables":                       {files: substituted("  postBuild: {substituteFrom: [{kind: ConfigMap, name: none}]}\n"), path: "cluster", want: []string{"apps.yaml:9", "variables from ConfigMap none"}},
		"encrypted variables":                    {files: with(substituted("  postBuild: {substituteFrom: [{kind: Secret, name: vars}]}\n"), map[string]string{"cluster/vars.yaml": strings.NewReplacer("name: a", "name: vars, namespace: flux-system", "password:", "N:").Replace(sopsSecret)}), path: "cluster", want: []string{"web.yaml:1", "variable N is encrypted by SOPS in Secret vars (", "vars.yaml:1", "`variables: {N: VALUE}`"}},
		"a variable's name":                      {files: substituted("  postBuild: {substitute: {a-b: c}}\n"), path: "cluster", want: []string{"apps.yaml:9", `variable "a-b"`}},
		"a variable that breaks":                 {files: substituted("  postBuild: {substitute: {N: 'a: b: c'}}\n"), path: "cluster", want: []string{"web.yaml:1", "with the variables of Kustomization apps"}},
		"a variable that is not set":             {files: substituted("  postBuild: {substitute: {WHERE: there}}\n"), path: "cluster", want: []string{"web.yaml:1", "with the variables of Kustomization apps", "variable not set (strict mode): \"N\"", "write a default such as ${N:=}, or $${N} to keep the text"}},
		"no variables, and Always":               {files: substituted("  postBuild: {substituteStrategy: Always}\n"), path: "cluster", want: []string{"web.yaml:1", "variable not set (strict mode): \"N\""}},
		"an unknown strategy":                    {files: substituted("  postBuild: {substituteStrategy: Never}\n"), path: "cluster", want: []string{"apps.yaml:9", `is "Never"; want WithVariables or Always`}},
		"a key of postBuild":                     {files: substituted("  postBuild: {other: {}}\n"), path: "cluster", want: []string{"apps.yaml:9", "spec.postBuild.other"}},
		"a chart that is absent":                 {files: release("charts/web", "charts/none"), path: "cluster", want: []string{"web.yaml:8", `"charts/none"`}},
		"a source of another kind":               {files: release("kind: GitRepository", "kind: Bucket"), path: "cluster", want: []string{"web.yaml:9", "Bucket"}},
		"a digest without a tag":                 {files: oci("tag: 1.2.3", "digest: sha256:0"), path: "cluster", want: []string{"redis.yaml:8", "spec.ref.digest", "want a tag"}},
		"no tag":                                 {files: oci("  ref: {tag: 1.2.3}\n", ""), path: "cluster", want: []string{"redis.yaml:5", "latest"}},
		"a moving tag":                           {files: oci("tag: 1.2.3", "tag: latest"), path: "cluster", want: []string{"redis.yaml:8", "latest"}},
		"another repository's":                   {files: with(flux(nil), map[string]string{"cluster/source.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {url: 'https://example.com/team/other'}\n"}), path: "cluster", want: []string{"cluster/base.yaml:7", "is not this checkout"}},
		"encrypted values":                       {files: with(release("  values:", "  valuesFrom: [{kind: Secret, name: a}]\n  values:"), map[string]string{"apps/kustomization.yaml": "", "cluster/apps.yaml": flux(nil)["cluster/apps.yaml"] + "  decryption: {provider: sops}\n", "apps/left-out.yaml": "", "apps/secret.yaml": strings.Replace(sopsSecret, "name: a", "name: a, namespace: web", 1)}), path: "cluster", want: []string{"web.yaml:10", "encrypted by SOPS", "secret.yaml:1", "`secrets: {web/a: [values.yaml]}`"}},
		"variables in another namespace":         {files: with(substituted("  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}\n"), map[string]string{"cluster/vars.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: web}\ndata: {N: '7'}\n"}), path: "cluster", want: []string{"in its own namespace flux-system", "it is in web (", "vars.yaml:1"}},
		"two clusters":                           {files: flux(map[string]string{"other/apps.yaml": flux(nil)["cluster/apps.yaml"]}), path: ".", want: []string{"a second Kustomization apps", "pass the path of one cluster", "other", "cluster"}},
		"below a Kustomization with variables":   {files: with(substituted("  postBuild: {substitute: {N: '7'}}\n"), map[string]string{"apps/web.yaml": strings.Replace(webRelease, "name: web,", "name: 'web-${N}',", 1)}), path: "apps", want: []string{"HelmRelease web-${N}", "Kustomization apps (", "applies this path with variables"}},
		"an encrypted Secret without decryption": {files: flux(map[string]string{"apps/kustomization.yaml": "", "apps/left-out.yaml": "", "apps/secret.yaml": strings.Replace(sopsSecret, "name: a", "name: a, namespace: default", 1)}), path: "cluster", want: []string{"secret.yaml:1", "Secret a is encrypted by SOPS, and Kustomization apps (", "spec.decryption"}},
		"Kustomizations in a circle":             {files: flux(map[string]string{"cluster/base.yaml": flux(nil)["cluster/base.yaml"] + "  dependsOn: [{name: apps}]\n"}), path: "cluster", want: []string{"Kustomization apps depends on itself (apps on base on apps)", "apps.yaml:8"}},
		"a component that is not there":          {files: flux(map[string]string{"cluster/apps.yaml": flux(nil)["cluster/apps.yaml"] + "  components: [../parts/none]\n"}), path: "cluster", want: []string{"cluster/apps.yaml:9", "parts/none"}},
		"a chart of a patch of a patch": {files: flux(map[string]string{"cluster/apps.yaml": strings.Replace(flux(nil)["cluster/apps.yaml"], "path: ./apps", "path: ./two", 1) + "  patches:\n  - target: {kind: Kustomization}\n    patch: |\n      apiVersion: kustomize.toolkit.fluxcd.io/v1\n      kind: Kustomization\n      metadata: {name: _}\n      spec:\n        patches:\n        - target: {kind: HelmRelease}\n          patch: |\n            apiVersion: helm.toolkit.fluxcd.io/v2\n            kind: HelmRelease\n            metadata: {name: _}\n            spec:\n              chart: {spec: {chart: charts/none}}\n",
			"two/inner.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: inner, namespace: flux-system}\nspec:\n  interval: 10m\n  path: ./apps\n  sourceRef: {kind: GitRepository, name: flux-system}\n"}), path: "cluster", want: []string{"cluster/apps.yaml:23", `chart "charts/none" of HelmRelease web`}},
		"an encrypted object":           {files: flux(map[string]string{"apps/kustomization.yaml": "", "apps/left-out.yaml": "", "apps/secret.yaml": strings.Replace(sopsSecret, "kind: Secret", "kind: ENC[AES256_GCM]", 1)}), path: "cluster", want: []string{"secret.yaml:1", "encrypted_regex"}},
		"a helmfile's template":         {files: helmfile(map[string]string{"helmfile.yaml": edit(helmfile(nil)["helmfile.yaml"], "namespace: cache", "namespace: {{ .Environment.Name }}")}), path: ".", want: []string{"helmfile.yaml:7", "only a file whose name ends in .gotmpl is a template of helmfile"}},
		"a helmfile's set":              {files: helmfile(map[string]string{"helmfile.yaml": edit(helmfile(nil)["helmfile.yaml"], "value: 3}", "value: 3, forceString: true}")}), path: ".", want: []string{"helmfile.yaml:18", "set of release web has a forceString"}},
		"a helmfile's hook":             {files: helmfile(map[string]string{"helmfile.yaml": edit(helmfile(nil)["helmfile.yaml"], "  labels: {tier: front}", "  hooks: [{events: [presync], command: touch}]")}), path: ".", want: []string{"helmfile.yaml:14", "releases.hooks"}},
		"a helmfile's secrets":          {files: helmfile(map[string]string{"helmfile.yaml": edit(helmfile(nil)["helmfile.yaml"], "  labels: {tier: front}", "  secrets: [a.yaml]")}), path: ".", want: []string{"helmfile.yaml:14", "SOPS"}},
		"a helmfile's other chart":      {files: helmfile(map[string]string{"helmfile.yaml": edit(helmfile(nil)["helmfile.yaml"], "./charts/web", "./charts/none")}), path: ".", want: []string{"helmfile.yaml:13", `"./charts/none"`}},
		"a helmfile.yaml.gotmpl":        {files: map[string]string{"helmfile.yaml.gotmpl": "releases: []\n"}, path: ".", want: []string{"helmfile.yaml.gotmpl", "no release to install"}},
		"a helmfile's hostile template": {files: map[string]string{"helmfile.yaml.gotmpl": "releases:\n- {name: '{{ readFile \"/etc/hostname\" }}'}\n"}, path: ".", want: []string{"helmfile.yaml.gotmpl:2", "/etc/hostname is no file of this repository"}},
		"an absent OCIRepository":       {files: oci("{kind: OCIRepository, name: charts}", "{kind: OCIRepository, name: other}"), path: "cluster", want: []string{"redis.yaml:15", "OCIRepository other", "not among these files"}},
		"a chartRef of another":         {files: oci("{kind: OCIRepository,", "{kind: HelmChart,"), path: "cluster", want: []string{"redis.yaml:15", "HelmChart", "want an OCIRepository"}},
		"a suspended dependency":        {files: with(release("  interval: 10m", "  dependsOn: [{name: redis}]"), map[string]string{"base/redis.yaml": edit(ociRedis, "  targetNamespace: redis", "  suspend: true\n  targetNamespace: redis")}), path: "cluster", want: []string{"web.yaml:5", "depends on HelmRelease redis, which is suspended"}},
		"another kubeconfig":            {files: release("  interval: 10m", "  kubeConfig: {secretRef: {name: a}}"), path: "cluster", want: []string{"web.yaml:5", "spec.kubeConfig"}},
		"values of another place":       {files: release("  values:", "  valuesFrom: [{kind: ConfigMap, name: a}]\n  values:"), path: "cluster", want: []string{"web.yaml:10", "ConfigMap web/a, which no file here has"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, filepath.Join(repo(t, tc.files), tc.path), tc.lane)
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

// A link may lead out of the repository, where a run in CI could read what is nobody else's.
func TestOpen_Link(t *testing.T) {
	dir := repo(t, argo(nil))
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "charts/web/templates/link.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, filepath.Join(dir, "charts/web"), "")
	if err == nil || !strings.Contains(err.Error(), "charts/web/templates/link.yaml is a symbolic link that leads nowhere, or out of the repository") {
		t.Errorf("got %v", err)
	}
	dir = repo(t, argo(map[string]string{"shared/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\n"}))
	if err := os.Symlink("../../../shared/more.yaml", filepath.Join(dir, "charts/web/templates/link.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err = open(t, filepath.Join(dir, "charts/web"), ""); err != nil {
		t.Errorf("a link to a file of the repository: %v", err)
	}
}

// What is changed for the cell's cluster is told.
func TestOpen_Overrides(t *testing.T) {
	dir := repo(t, argo(nil))
	a, err := FindApp(t.Context(), filepath.Join(dir, "apps"), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLayout(t.Context(), a.repo)
	if err := l.applications(a); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(append(l.overrides, l.notVerified...), "\n")
	for _, want := range []string{"web is deployed to the cell's cluster, in place of production", "web syncs by itself", "project team"} {
		if !strings.Contains(all, want) {
			t.Errorf("got %s; want %q in it", all, want)
		}
	}
}

// Helmfile downloads the dependencies of a chart in a directory again, unless it is told not to.
func TestHelmfile_Dependencies(t *testing.T) {
	a, err := FindApp(t.Context(), filepath.Join(repo(t, helmfile(nil)), "."), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLayout(t.Context(), a.repo)
	t.Cleanup(func() { l.by.close() })
	if err := l.helmfile(a); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(l.files["level-0.yaml"]), "skipDeps: true"); got != 1 {
		t.Errorf("got %d releases with skipDeps, want that of ./web/chart:\n%s", got, l.files["level-0.yaml"])
	}
}
