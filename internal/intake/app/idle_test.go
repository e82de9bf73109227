package app

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// idleOf gives what selects nothing in a path, one line each.
func idleOf(t *testing.T, files map[string]string, at string) string {
	t.Helper()
	a, err := FindApp(t.Context(), filepath.Join(repo(t, files), at), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLayout(t.Context(), a.repo)
	t.Cleanup(l.by.close)
	l.idle.merge(a.idle)
	switch a.Deployer {
	case bundle.FluxGit:
		err = l.flux(a, bundle.FluxGit)
	case bundle.ArgoCDGit:
		err = l.applications(a)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, i := range l.idle.all() {
		file := i.At.File[strings.LastIndex(i.At.File, "/001/")+len("/001/"):]
		all = append(all, fmt.Sprintf("%s %s:%d %s", i.Of.Kind, file, i.At.Line, i.Selects))
	}
	return strings.Join(all, "\n")
}

const (
	webDeployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\nspec: {template: {spec: {containers: [{name: web, image: web:1}]}}}\n"
	twoReplicas   = "  patch: '[{\"op\": \"add\", \"path\": \"/spec/replicas\", \"value\": 2}]'\n"
)

// Patches that select nothing have their place, whoever has them; a component that two overlays use is idle only if it is in both.
func TestIdle(t *testing.T) {
	fluxPatch := func(name string) string {
		return "  patches:\n  - target: {kind: HelmRelease, name: " + name + "}\n    patch: '[{\"op\": \"add\", \"path\": \"/spec/maxHistory\", \"value\": 2}]'\n"
	}
	plain := func(target string) map[string]string {
		return map[string]string{"x/kustomization.yaml": "resources: [web.yaml]\npatches:\n- target: " + target + "\n" + twoReplicas, "x/web.yaml": webDeployment}
	}
	part := map[string]string{".git/config": gitConfig,
		"all/kustomization.yaml": "resources: [../a, ../b]\n", "a/web.yaml": webDeployment, "b/db.yaml": strings.ReplaceAll(webDeployment, "name: web,", "name: db,"),
		"a/kustomization.yaml": "resources: [web.yaml]\ncomponents: [../part]\n", "b/kustomization.yaml": "resources: [db.yaml]\ncomponents: [../part]\n",
		"part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {kind: Deployment, name: db}\n" + twoReplicas,
	}
	two := func(name string) map[string]string {
		files := with(flux(nil), part)
		for _, dir := range []string{"a", "b"} {
			files["cluster/"+dir+".yaml"] = strings.NewReplacer("name: base", "name: "+dir, "./base", "./"+dir).Replace(files["cluster/base.yaml"])
		}
		files["part/kustomization.yaml"] = strings.Replace(files["part/kustomization.yaml"], "name: db}", "name: "+name+"}", 1)
		return files
	}
	application := func(target string) map[string]string {
		return argo(map[string]string{"apps/redis.yaml": "", "x/kustomization.yaml": "resources: [web.yaml]\n", "x/web.yaml": webDeployment,
			"apps/web.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: web}\n  syncPolicy: {syncOptions: [CreateNamespace=true]}\n  source:\n    repoURL: https://example.com/team/apps.git\n    path: x\n    kustomize:\n      images: [web=web:2]\n      patches:\n      - target: " + target + "\n      " + twoReplicas})
	}
	for name, c := range map[string]struct {
		files    map[string]string
		at, want string
	}{
		"a kustomization":                        {plain("{kind: Deployment, name: wed}"), "x", "Kustomization x/kustomization.yaml:3 kind Deployment, name wed"},
		"a kustomization, hit":                   {plain("{kind: Deployment, name: web}"), "x", ""},
		"Flux":                                   {with(flux(nil), map[string]string{"cluster/apps.yaml": flux(nil)["cluster/apps.yaml"] + fluxPatch("wep")}), "cluster", "Kustomization cluster/apps.yaml:10 kind HelmRelease, name wep"},
		"Flux, hit":                              {with(flux(nil), map[string]string{"cluster/apps.yaml": flux(nil)["cluster/apps.yaml"] + fluxPatch("web")}), "cluster", ""},
		"Argo CD":                                {application("{kind: Deployment, name: wed}"), "apps", "Application apps/web.yaml:14 kind Deployment, name wed"},
		"Argo CD, hit":                           {application("{kind: Deployment, name: web}"), "apps", ""},
		"a component, hit in one":                {part, "all", ""},
		"a component of two builds, hit in one":  {two("db"), "cluster", ""},
		"a component of two builds, hit in none": {two("dc"), "cluster", "Kustomization part/kustomization.yaml:4 kind Deployment, name dc"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := idleOf(t, c.files, c.at); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What a deployer writes into a kustomization, and what a generator merges into, have their line if Kustomize refuses them.
func TestBuild_Lines(t *testing.T) {
	base := map[string]string{"x/kustomization.yaml": "resources: [web.yaml]\n", "x/web.yaml": webDeployment, "apps/redis.yaml": ""}
	application := func(kustomize string) map[string]string {
		return argo(with(map[string]string{"apps/web.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: web}\n  source:\n    repoURL: https://example.com/team/apps.git\n    path: x\n    kustomize:\n      " + kustomize + "\n"}, base))
	}
	for name, c := range map[string]struct {
		files     map[string]string
		at        string
		want, and string
	}{
		"replicas of Argo CD": {application("replicas: [{name: wep, count: 3}]"), "apps", "apps/web.yaml:11", "with what Application web sets"},
		"replicas of a kustomization": {map[string]string{"x/kustomization.yaml": "resources: [web.yaml]\nreplicas:\n- {name: web, count: 2}\n- {name: wep, count: 3}\n", "x/web.yaml": webDeployment}, "x",
			"x/kustomization.yaml:4", "resource with name wep"},
		"a generator without a base": {map[string]string{"x/kustomization.yaml": "resources: [web.yaml]\nconfigMapGenerator:\n- {name: settings, behavior: merge, literals: [A=1]}\n", "x/web.yaml": webDeployment}, "x",
			"x/kustomization.yaml:3", "ConfigMap settings does not exist, and a generator merges into it"},
		"a component of Flux": {with(flux(map[string]string{"apps/kustomization.yaml": "", "apps/left-out.yaml": ""}), map[string]string{"cluster/apps.yaml": flux(nil)["cluster/apps.yaml"] + "  components:\n  - ../part\n"}), "cluster",
			"cluster/apps.yaml:10", "part does not exist"},
		"a variable of Flux": {with(substituted("  postBuild: {substitute: {M: a}}\n"), nil), "cluster", "apps/web.yaml:12", `variable not set (strict mode): "N"; set N in postBuild`},
		"a ref of Argo CD":   {argo(map[string]string{"apps/redis.yaml": strings.Replace(redisApp, "$here/env", "$there/env", 1)}), "apps", "apps/redis.yaml:8", "no source has the ref $there; there is $here"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := open(t, filepath.Join(repo(t, c.files), c.at), ""); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.and) {
				t.Errorf("got %v, want %s and %s", err, c.want, c.and)
			}
		})
	}
}
