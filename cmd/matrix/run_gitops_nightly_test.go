//go:build nightly

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// deployed is a Deployment of one pod.
func deployed(name, more string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec:\n  selector: {matchLabels: {app: %[1]s}}\n  template:\n    metadata: {labels: {app: %[1]s}}\n    spec:\n      containers: [{name: main, image: \"example.com/%[1]s:1\"%s}]\n", name, more)
}

// applied is a Kustomization of Flux for a directory.
func applied(name, dir, more string) string {
	if !strings.Contains(more, "targetNamespace") {
		more = "  targetNamespace: default\n" + more
	}
	return fmt.Sprintf("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: %s, namespace: flux-system}\nspec:\n  interval: 10m\n  timeout: 2m\n  path: ./%s\n  prune: true\n  sourceRef: {kind: GitRepository, name: flux-system}\n%s---\n", name, dir, more)
}

// synced is an Application of Argo CD for a directory.
func synced(name, project, dir, more string) string {
	return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd%s}\nspec:\n  project: %s\n  destination: {server: https://kubernetes.default.svc, namespace: %[1]s}\n  source: {repoURL: https://github.com/acme/fleet.git, path: %[4]s}\n  syncPolicy: {syncOptions: [CreateNamespace=true]}\n---\n", name, more, project, dir)
}

// Repositories as their users have them: what Flux and Argo CD would never make ready is red, with its
// line, and what they would is green.
func TestNightlyGitOps(t *testing.T) {
	const (
		takes    = ", envFrom: [{configMapRef: {name: settings}}]"
		settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"
		fromOCI  = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: web, namespace: web}\nspec: {interval: 10m, url: \"oci://registry.example.com/charts/web\", ref: {tag: 1.2.3}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: web}\nspec: {interval: 10m, chartRef: {kind: OCIRepository, name: web}}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"
		chart    = "apiVersion: v2\nname: web\nversion: 1.2.3\n"
		project  = "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team}\nspec: {sourceRepos: ['*'], destinations: [{server: '*', namespace: web}]}\n"
		wave     = ", annotations: {argocd.argoproj.io/sync-wave: \"1\"}"
		unwaited = "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: default}\nspec: {interval: 10m, install: {disableWait: true}, chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}}\n"
	)
	own := func(namespace, more string) string {
		return "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + namespace + "}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: " + namespace + "}\nspec:\n  interval: 10m\n" + more + "  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}\n"
	}
	ready := func(n int) string {
		return fmt.Sprintf("  wait: true\n  healthCheckExprs: [{apiVersion: apps/v1, kind: Deployment, current: status.readyReplicas == %d}]\n", n)
	}
	check := "  healthChecks: [{apiVersion: apps/v1, kind: Deployment, name: NAME, namespace: default}]\n"
	health := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {resource.customizations.health.argoproj.io_Application: \"return {}\"}\n"
	root := synced("root", "default", "apps", "")
	for name, c := range map[string]struct {
		files map[string]string
		at    string
		args  []string
		code  int
		want  []string
	}{
		"a health check":            {map[string]string{"c/a.yaml": applied("apps", "apps", strings.Replace(check, "NAME", "web", 1)), "apps/web.yaml": deployed("web", "")}, "c", nil, 0, []string{"1 passed"}},
		"a health check of nothing": {map[string]string{"c/a.yaml": applied("apps", "apps", strings.Replace(check, "NAME", "wev", 1)), "apps/web.yaml": deployed("web", "")}, "c", nil, 51, []string{"waits for Deployment default/wev", "which nothing makes", "c/a.yaml:11"}},
		"releases of one name": {map[string]string{"c/a.yaml": applied("apps", "apps", "  wait: true\n  targetNamespace: \"\"\n  healthChecks: [{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, name: web, namespace: b}]\n"), "charts/web/Chart.yaml": chart, "charts/web/templates/web.yaml": deployed("web", ""),
			"apps/a.yaml": own("a", ""), "apps/b.yaml": own("b", "  dependsOn: [{name: web, namespace: a}]\n")}, "c", nil, 0, []string{"2 pods", "1 passed"}},
		"a project that is not there": {map[string]string{"apps/a.yaml": synced("web", "tema", "web", ""), "apps/p.yaml": project, "web/web.yaml": deployed("web", "")}, "apps", nil, 51, []string{"names the project tema, and there is no AppProject of that name; did you mean team?", "apps/a.yaml:5"}},
		"an expression":               {map[string]string{"c/a.yaml": applied("apps", "apps", ready(1)), "apps/web.yaml": deployed("web", "")}, "c", nil, 0, []string{"1 passed"}},
		"an expression of nothing":    {map[string]string{"c/a.yaml": applied("apps", "apps", ready(5)), "apps/web.yaml": deployed("web", "")}, "c", nil, 51, []string{"HealthCheckFailed", "Kustomization apps waits for Deployment default/web (", "c/a.yaml:11"}},
		"a digest in an annotation":   {map[string]string{"c/web.yaml": fromOCI, "charts/web/Chart.yaml": chart, "charts/web/templates/web.yaml": strings.Replace(deployed("web", ""), "{name: web}\nspec", "{name: web, annotations: {chart: \"{{ .Chart.Version }}\"}}\nspec", 1)}, "c", []string{"--charts", "charts"}, 0, []string{"1 passed"}},
		"a digest in a label":         {map[string]string{"c/web.yaml": fromOCI, "charts/web/Chart.yaml": chart, "charts/web/templates/web.yaml": strings.Replace(deployed("web", ""), "{name: web}\nspec", "{name: web, labels: {chart: \"{{ .Chart.Version }}\"}}\nspec", 1)}, "c", []string{"--charts", "charts"}, 51, []string{"has the label chart: 1.2.3+", `replace "+" "_"`, "c/web.yaml:6"}},
		"one that is not waited for": {map[string]string{"c/a.yaml": applied("first", "first", "  wait: true\n") + applied("second", "second", "  dependsOn: [{name: first}]\n"), "first/web.yaml": deployed("a", takes),
			"second/s.yaml": settings + unwaited, "charts/web/Chart.yaml": chart, "charts/web/templates/web.yaml": deployed("web", "")}, "c", nil, 1, []string{"ConfigMap default/settings, which release second creates only later"}},
		"waves":                {map[string]string{"root.yaml": root, "apps/a.yaml": synced("web", "default", "web", ""), "apps/b.yaml": synced("other", "default", "other", wave), "web/web.yaml": deployed("web", takes), "other/s.yaml": strings.Replace(settings, "{name: settings}", "{name: settings, namespace: web}", 1)}, "root.yaml", []string{"-d", "argocd-oci"}, 0, []string{"1 passed"}},
		"waves that wait":      {map[string]string{"root.yaml": root, "cm.yaml": health, "apps/a.yaml": synced("web", "default", "web", ""), "apps/b.yaml": synced("other", "default", "other", wave), "web/web.yaml": deployed("web", takes), "other/s.yaml": strings.Replace(settings, "{name: settings}", "{name: settings, namespace: web}", 1)}, "root.yaml", []string{"-d", "argocd-oci"}, 1, []string{"ConfigMap web/settings, which release other creates only later"}},
		"beside Applications":  {map[string]string{"root.yaml": root, "apps/a.yaml": synced("web", "default", "web", ""), "apps/s.yaml": strings.Replace(settings, "{name: settings}", "{name: settings, namespace: web}", 1), "apps/ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n", "web/web.yaml": deployed("web", takes)}, "root.yaml", []string{"-d", "argocd-oci"}, 0, []string{"1 passed"}},
		"a project":            {map[string]string{"a.yaml": synced("web", "team", "web", ""), "p/p.yaml": project, "web/web.yaml": deployed("web", "")}, "a.yaml", nil, 0, []string{"1 passed"}},
		"a project's refusal":  {map[string]string{"a.yaml": synced("web", "team", "web", ""), "p/p.yaml": project, "web/web.yaml": deployed("web", "") + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: web}\nrules: []\n"}, "a.yaml", nil, 51, []string{"ClusterRole web: is of Application web, whose project team does not permit its kind", "p/p.yaml:1"}},
		"overlays of Flux":     {map[string]string{"c/a.yaml": applied("apps", "apps", "  wait: true\n  namePrefix: my-\n  targetNamespace: there\n  images: [{name: example.com/web, newTag: \"2\"}]\n"), "apps/web.yaml": deployed("web", takes) + "---\n" + settings}, "c", nil, 0, []string{"1 passed"}},
		"a build that fails":   {map[string]string{"c/a.yaml": applied("apps", "apps", ""), "apps/kustomization.yaml": "resources: [web.yaml]\npatches:\n- path: p.yaml\n", "apps/web.yaml": deployed("web", ""), "apps/p.yaml": strings.Replace(deployed("wev", ""), "\nmetadata: {name: wev}", "\nmetadata:\n  name: wev", 1)}, "c", nil, 2, []string{"apps/p.yaml:4", "does not build"}},
		"another namespace":    {map[string]string{"c/a.yaml": strings.Replace(applied("apps", "apps", ""), "  targetNamespace: default\n", "", 1), "apps/web.yaml": deployed("web", "")}, "c", nil, 2, []string{"apps/web.yaml:3", "Deployment web has no namespace", "set spec.targetNamespace"}},
		"a chart for one lane": {map[string]string{"c/web.yaml": strings.TrimPrefix(unwaited, "---\n"), "charts/web/Chart.yaml": chart, "charts/web/templates/web.yaml": deployed("web", "")}, "c", []string{"-d", "flux-oci"}, 2, []string{"c/web.yaml:4", "run it with -d flux-git"}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			paths, _ := needStack(t)
			dir := t.TempDir()
			c.files[".git/config"] = "[remote \"origin\"]\n\turl = git@github.com:acme/fleet.git\n"
			for file, text := range c.files {
				at := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			args := append([]string{"run", "--app", filepath.Join(dir, c.at)}, c.args...)
			for i := range args {
				if args[i] == "charts" {
					args[i] = filepath.Join(dir, "charts")
				}
			}
			newProgram(t, buildProgram(t), paths).run(t, 10*time.Minute, nil, args...).want(t, c.code, c.want...)
		})
	}
}
