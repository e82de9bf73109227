package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// changedRepo is a Git repository with two Applications, api and web, each with a chart of its own, a file of variables, and
// a function that writes a file of it.
func changedRepo(t *testing.T) (dir string, write func(name, text string)) {
	t.Helper()
	dir = t.TempDir()
	write = func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"api", "web"} {
		write("apps/"+name+".yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: "+name+", namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: "+name+"}\n"+
			"  source: {repoURL: https://example.com/team/repo.git, path: charts/"+name+"}\n  syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true]}\n")
		write("charts/"+name+"/Chart.yaml", "apiVersion: v2\nname: "+name+"\nversion: 1.0.0\n")
		write("charts/"+name+"/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	}
	write("cluster.yaml", "variables: {A: b}\n")
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir, write
}

// Where nothing has changed, nothing runs, and that is no pass. What cannot be told counts as changed.
func TestChangedSince(t *testing.T) {
	dir, write := changedRepo(t)
	app := filepath.Join(dir, "apps")
	t.Setenv("PATH", gitOnly(t)) // so that no cell starts
	run := func(args ...string) invocationResult {
		t.Helper()

		return invokeIn(t.Context(), t, t.TempDir(), nil, append([]string{"run", "--app", app, "--changed-since", "main"}, args...)...)
	}
	nothing := reason.NothingSelected.Code()
	run().want(t, nothing, "--changed-since main: none of the 2 apps of ", "nothing was checked")
	invokeIn(t.Context(), t, t.TempDir(), nil, "run", "--app", app, "--changed-since", "mian").want(t, 2, "--changed-since mian: ", `no branch, tag or commit "mian"`)
	write("README.md", "hello")
	run("--cluster-file", filepath.Join(dir, "cluster.yaml")).want(t, nothing)
	write("charts/web/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n")
	started := reason.ToolchainMissing.Code() // what is planned ends there
	run().want(t, started, "--changed-since main: 1 of 2 apps changed: web\n")
	run("--select", "api").want(t, nothing, "none of the 1 app ")
	write("cluster.yaml", "variables: {A: c}\n")
	run("--cluster-file", filepath.Join(dir, "cluster.yaml")).want(t, started, "each app counts as changed, since ", "cluster.yaml changed")
	if err := os.Remove(filepath.Join(app, "api.yaml")); err != nil {
		t.Fatal(err)
	}
	run().want(t, started, "no longer there, and not run: api", "1 of 1 app changed: web")

	app = filepath.Join(dir, "new")
	write("new/web.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: web}\n  source: {repoURL: https://example.com/team/repo.git, path: charts/web}\n  syncPolicy: {syncOptions: [CreateNamespace=true]}\n")
	run().want(t, started, "each app counts as changed, since there was no ")
}

// In a cell, only what has changed is delivered.
func TestChangedSince_Cell(t *testing.T) {
	paths, _ := needStack(t)
	dir, write := changedRepo(t)
	write("charts/web/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n")
	r := newProgram(t, buildProgram(t), paths).run(t, 10*time.Minute, nil, "run", "--app", filepath.Join(dir, "apps"), "--changed-since", "main", "--explain")
	r.want(t, 0, "1 cell: 1 passed", "app: 1 app left out (--changed-since main)")
	if strings.Contains(r.stdout.String(), "Application api") {
		t.Errorf("an app that has not changed was delivered:\n%s", r.stdout)
	}
}
