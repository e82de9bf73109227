package app

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// An app whose chart cannot be had is left out with what depends on it, and the rest is delivered.
func TestOpen_Without(t *testing.T) {
	waits := flux(map[string]string{"apps/other.yaml": `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: other, namespace: web}
spec:
  interval: 10m
  chart: {spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
  dependsOn: [{name: web}]
`, "apps/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [web.yaml, other.yaml]\n", "alone/alone.yaml": `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: alone, namespace: web}
spec:
  interval: 10m
  chart: {spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
`, "cluster/alone.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: alone, namespace: flux-system}\nspec:\n  interval: 10m\n  path: ./alone\n  sourceRef: {kind: GitRepository, name: flux-system}\n"})
	waits["cluster/base.yaml"] += "  healthChecks: [{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, name: redis, namespace: flux-system}]\n"
	for name, c := range map[string]struct {
		files            map[string]string
		at, lacks        string
		dependents, want []string
	}{
		"an Application":             {argo(nil), "apps", "redis", nil, []string{"web"}},
		"a HelmRelease":              {waits, "cluster", "web", []string{"other"}, []string{"alone", "redis"}},
		"what a Kustomization waits": {waits, "cluster", "redis", []string{"other", "web"}, []string{"alone"}},
		"a release of helmfile":      {helmfile(map[string]string{"all.yaml": "releases:\n- {name: late, namespace: web, chart: ./charts/web, needs: [early]}\n- {name: early, namespace: web, chart: ./charts/web}\n- {name: own, namespace: web, chart: ./charts/web}\n"}), "all.yaml", "early", []string{"late"}, []string{"own"}},
		"an Application of a later wave": {argo(map[string]string{
			"argocd/values.yaml": "configs: {cm: {resource.customizations.health.argoproj.io_Application: x}}\n",
			"root.yaml":          "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root, namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: argocd}\n  source: {repoURL: https://example.com/team/apps.git, path: all}\n",
			"all/first.yaml":     "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: first, namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: web}\n  source: {repoURL: https://example.com/team/apps.git, path: charts/web}\n",
			"all/also.yaml":      "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: also, namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: web}\n  source: {repoURL: https://example.com/team/apps.git, path: charts/web}\n",
			"all/second.yaml":    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: second, namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: '1'}}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: web}\n  source: {repoURL: https://example.com/team/apps.git, path: charts/web}\n",
		}), "root.yaml", "first", []string{"second"}, []string{"also"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := FindApp(t.Context(), filepath.Join(repo(t, c.files), c.at), nil)
			if err != nil {
				t.Fatal(err)
			}
			d, err := bundle.ByName([]string{a.Deployer})
			if err != nil {
				t.Fatal(err)
			}
			b, err := a.Open(t.Context(), d[0])
			if err != nil {
				t.Fatal(err)
			}
			dependents := b.Dependents([]string{c.lacks})
			if slices.Sort(dependents); !slices.Equal(dependents, c.dependents) {
				t.Errorf("depend on it: %q, want %q", dependents, c.dependents)
			}
			a.Without = append(dependents, c.lacks)
			if b, err = a.Open(t.Context(), d[0]); err != nil {
				t.Fatal(err)
			}
			components, _ := b.Components()
			var names []string
			for _, one := range components {
				names = append(names, one.Name)
			}
			if slices.Sort(names); !slices.Equal(names, c.want) {
				t.Errorf("got %q, want %q", names, c.want)
			}
		})
	}
}
