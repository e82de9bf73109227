package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

const apps = "../../examples/apps"

// What --app cannot run, and what does not go with it, is refused before anything is started.
func TestAppInput(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "app.yaml")
	if err := os.WriteFile(absent, []byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  source: {repoURL: https://charts.example.com, chart: absent, targetRevision: 1.0.0}\n  destination: {namespace: a}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	typo := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(typo, []byte("variable: {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"a typo in a cluster file":    {[]string{"--app", apps + "/argocd", "--cluster-file", typo, "--charts", "simulated"}, []string{`cluster.yaml:1: unknown field "variable"; there are: cluster, variables`}},
		"a selection of nothing":      {[]string{"--app", apps + "/argocd", "--select", "none", "--charts", "simulated"}, []string{"--select none: no app of this path is selected by it", "there are: "}},
		"changes of recipes":          {[]string{"eks-training", "--changed-since", "HEAD"}, []string{"--changed-since is for --app"}},
		"changes since nothing":       {[]string{"--app", apps + "/argocd", "--changed-since", ""}, []string{"--changed-since is empty"}},
		"a selection of recipes":      {[]string{"eks-training", "--select", "a"}, []string{"--select is for --app"}},
		"nothing that exists":         {[]string{"--app", apps + "/argocd", "--with", "./absent", "--charts", "simulated"}, []string{"--with ./absent: no such file or directory, and no such recipe"}},
		"an app that is no manifests": {[]string{"--app", apps + "/argocd", "--with", apps + "/flux", "--charts", "simulated"}, []string{"is for the lane flux-git, and only manifests"}},
		"a first file of no app":      {[]string{"eks-training", "--init"}, []string{"pass its path with --app"}},
		"steps of no upgrade":         {[]string{"eks-training", "--upgrade-steps", "a.yaml"}, []string{"say with --from what runs before it"}},
		"an older app that is none":   {[]string{"--app", apps + "/argocd", "--from", "./absent", "--charts", "simulated"}, []string{"--from ./absent: there is no such directory"}},
		"no such path":                {[]string{"--app", "/no/such/app"}, []string{"/no/such/app"}},
		"a chart that no source has":  {[]string{"--app", absent, "--deployer", "argocd-oci", "--charts", "simulated"}, []string{"app.yaml:1", "absent"}},
		"with a bundle":               {[]string{"--app", apps + "/flux", "--bundle-dir", "."}, []string{"exclude each other"}},
		"unlocked charts for recipes": {[]string{"eks", "--charts", "unlocked"}, []string{"is for --app", "charts.lock"}},
		"with --all":                  {[]string{"--app", apps + "/flux", "--all"}, []string{"--all is about recipes"}},
		"with --aicr":                 {[]string{"--app", apps + "/flux", "--aicr", "aicr"}, []string{"the bundler is builtin"}},
		"two lanes":                   {[]string{"--app", apps + "/argocd", "--deployer", "argocd-oci,argocd-git"}, []string{"one lane"}},
		"another lane":                {[]string{"--app", apps + "/argocd", "--deployer", "helm"}, []string{"is for the lane argocd-git, and not for helm"}},
		"values for Applications":     {[]string{"--app", apps + "/argocd", "--values", apps + "/values-test.yaml"}, []string{"--values is for a chart"}},
		"a namespace for manifests":   {[]string{"--app", apps + "/argocd", "--namespace", "x"}, []string{"--namespace is for a chart"}},
		"a namespace for a recipe":    {[]string{"eks-training", "--namespace", "x"}, []string{"--namespace is for --app"}},
		"values for a recipe":         {[]string{"eks-training", "--values", apps + "/values-test.yaml"}, []string{"--values is for --app"}},
		"two names":                   {[]string{"--app", apps + "/flux", "a", "b"}, []string{"one name", "a, b"}},
	} {
		t.Run(name, func(t *testing.T) {
			invoke(t, nil, append([]string{"run"}, tc.args...)...).want(t, 2, append([]string{"matrix: "}, tc.want...)...)
		})
	}
}

// A repository without any recipe of AICR runs with one command: two Applications of Argo CD, one of
// them with a chart of the repository.
func TestApp_ArgoCD(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	newProgram(t, buildProgram(t), paths).run(t, 10*time.Minute, nil, "run", "--app", clonedApps(t)+"/argocd", "--charts", "simulated").want(t, 0, "argocd-git", "1 cell: 1 passed")
}

// clonedApps is the examples in a clone of this repository, wherever the tests' own copy was cloned
// from.
func clonedApps(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples", "apps"), os.DirFS(apps)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "config"), []byte("[remote \"origin\"]\n\turl = https://github.com/nvidia/aicr-action\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "examples", "apps")
}

// A mistake in a file that an app uses is annotated there, wherever in the checkout it is.
func TestAppAnnotation(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		".git/config":             "",
		"c/apps.yaml":             "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec: {path: ./apps, sourceRef: {kind: GitRepository, name: apps}}\n",
		"apps/kustomization.yaml": "resources:\n- none.yaml\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	invoke(t, nil, "run", "--app", "c", "--annotations", "notes").want(t, 2, "apps/kustomization.yaml:2")
	wantFile(t, "notes", "::error file=apps/kustomization.yaml,line=2,")
}

// An app whose chart cannot be downloaded is left out with what depends on it; the rest is run, and whatever comes of that,
// the run ends with the download's code.
func TestApp_Partial(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	dir := appsWithoutChart(t)
	p := newProgram(t, buildProgram(t), paths)
	p.run(t, 10*time.Minute, nil, "run", "--app", filepath.Join(dir, "green")).want(t, 23, "2 of 3 apps not run, since 1 chart cannot be had; the rest passed", "not run: db is not run: ", "apps.yaml:11: download chart db", "not run: api is not run: it depends on", "1 cell: 0 passed")
	p.run(t, 10*time.Minute, nil, "run", "--app", filepath.Join(dir, "red")).want(t, 23, "the rest failed (SCHEDULING_FAILED)", "disk=none", "not run: api is not run", "1 cell: 0 passed")
	p.run(t, time.Minute, nil, "run", "--app", filepath.Join(dir, "none")).want(t, 23, "what depends on them: api", "without a network") // nothing is left to run
}

// appsWithoutChart has directories of apps: of green, red and none, one has a chart that cannot be downloaded, and another one needs it;
// of before, neither is there yet.
func appsWithoutChart(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	release := func(name, chart, more string) string {
		return "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: " + name + ", namespace: flux-system}\nspec:\n  interval: 1h\n  targetNamespace: " + name + "\n  install: {createNamespace: true}\n  chart: {spec: {chart: " + chart + "}}\n" + more
	}
	own, gone := "charts/web, sourceRef: {kind: GitRepository, name: repo}", "db, version: 1.0.0, sourceRef: {kind: HelmRepository, name: gone}"
	apps := "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: repo, namespace: flux-system}\nspec: {url: https://github.com/nvidia/aicr-action}\n---\n" +
		"apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: gone, namespace: flux-system}\nspec: {url: https://charts.gone.invalid}\n" +
		release("db", gone, "") + release("api", own, "  dependsOn: [{name: db}]\n")
	for file, text := range map[string]string{
		".git/config":                   "[remote \"origin\"]\n\turl = https://github.com/nvidia/aicr-action\n",
		"charts/web/Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"charts/web/templates/web.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeSelector: {{ toJson (.Values.on | default dict) }}, containers: [{name: web, image: 'registry.example.com/web:1.0.0'}]}\n",
		"green/apps.yaml":               apps + release("web", own, ""),
		"red/apps.yaml":                 apps + release("web", own, "  values: {on: {disk: none}}\n"),
		"none/apps.yaml":                apps,
		"before/apps.yaml":              strings.Split(apps, "---\napiVersion: helm")[0] + release("web", own, ""),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A claim that names no class gets that of the provider: none on a new EKS cluster, where it stays pending.
func TestApp_DefaultClass(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	file := filepath.Join(t.TempDir(), "db.yaml")
	text := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: db, namespace: default}\nspec: {containers: [{name: db, image: 'registry.example.com/db:1.0.0'}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, short := newProgram(t, buildProgram(t), paths), []string{"KWOK_SCHEDULING_TIMEOUT=20"}
	p.run(t, 10*time.Minute, short, "run", "--app", file, "--service", "eks").want(t, 1, "claim data is not bound: it names no StorageClass, and the cluster has no default one: name one, there is gp2")
	p.run(t, 10*time.Minute, nil, "run", "--app", file, "--service", "gke").want(t, 0, "1 cell: 1 passed")
}

// While Kustomize builds the directories of an app, a line says how far it is.
func TestApp_BuildingShown(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		".git/config":             "",
		"c/apps.yaml":             "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec: {interval: 1h, path: ./apps, sourceRef: {kind: GitRepository, name: apps}}\n",
		"apps/kustomization.yaml": "resources:\n- cm.yaml\n",
		"apps/cm.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	invoke(t, nil, "run", "--app", filepath.Join(dir, "c")).want(t, reason.GitNotReady.Code(), "Building kustomizations  1") // no git is on the PATH of a test
}
