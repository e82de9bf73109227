package main

import (
	"errors"
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
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
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

// Who has no network reads what to do.
func TestOffline(t *testing.T) {
	t.Parallel()
	err := offline(reason.Wrap(reason.ChartDownloadFailed, errors.New("download chart a: no such host")))
	if got := reason.Of(err); got != reason.ChartDownloadFailed || !strings.Contains(err.Error(), "no such host; without a network, put the chart") {
		t.Errorf("got %s: %v", got, err)
	}
	if other := errors.New("a"); offline(other).Error() != "a" || offline(nil) != nil {
		t.Error("another error is changed")
	}
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
