package app

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// What is from another Git repository is named at once; a cluster file leaves it out, or names the directory of the checkout
// that has its files, and --init writes it.
func TestOpen_OtherRepositories(t *testing.T) {
	const other = "https://example.com/team/other"
	source := "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: other, namespace: flux-system}\nspec: {interval: 1h, url: " + other + "}\n"
	kustomization := flux(map[string]string{
		"cluster/other.yaml":   source + "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: extra, namespace: flux-system}\nspec:\n  interval: 10m\n  path: ./deploy\n  sourceRef: {kind: GitRepository, name: other}\n",
		"cluster/apps.yaml":    strings.Replace(flux(nil)["cluster/apps.yaml"], "[{name: base}]", "[{name: base}, {name: extra}]", 1),
		"vendor/deploy/a.yaml": strings.ReplaceAll(webRelease, "name: web,", "name: extra,"),
	})
	chart := flux(map[string]string{
		"cluster/other.yaml":                 source,
		"base/extra.yaml":                    strings.NewReplacer("name: web,", "name: extra,", "chart: charts/web", "chart: deploy/web", "name: flux-system,", "name: other,").Replace(webRelease),
		"apps/web.yaml":                      strings.Replace(webRelease, "  values:", "  dependsOn: [{name: extra}]\n  values:", 1),
		"vendor/deploy/web/Chart.yaml":       webChart,
		"vendor/deploy/web/templates/a.yaml": webTemplate,
	})
	delete(chart, "base/kustomization.yaml")
	application := argo(map[string]string{
		"apps/extra.yaml":                    strings.NewReplacer("{name: web, namespace: elsewhere}", "{name: extra}", "team/apps.git", "team/other", "path: charts/web", "path: deploy/web", "      valueFiles: [../../env/test.yaml]\n", "      valueFiles: [/env/x.yaml]\n").Replace(webApp),
		"vendor/deploy/web/Chart.yaml":       webChart,
		"vendor/deploy/web/templates/a.yaml": webTemplate,
		"vendor/env/x.yaml":                  "replicas: 9\n",
	})
	for name, c := range map[string]struct {
		files map[string]string
		at    string
		left  []string
	}{
		"a Kustomization": {kustomization, "cluster", []string{"redis", "web"}},
		"a chart":         {chart, "cluster", []string{"redis", "web"}},
		"an Application":  {application, "apps", []string{"redis", "web"}},
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
			if _, err := a.Open(t.Context(), d[0]); err == nil || strings.Count(err.Error(), "`repositories: {"+other+": DIR}`") != 1 {
				t.Errorf("without the file: got %v", err)
			}
			missing, err := a.Missing(t.Context(), d[0])
			if err != nil {
				t.Fatal(err)
			}
			text, err := missing.Encode()
			if err != nil || missing.Empty() || !strings.Contains(string(text), other+`: ""`) {
				t.Fatalf("--init: got %s, %v", text, err)
			}
			for text, want := range map[string][]string{
				string(text): c.left,
				"repositories: {git@example.com:team/other.git: ./vendor}\n": slices.Sorted(slices.Values(append(slices.Clone(c.left), "extra"))),
			} {
				if a.Cluster, err = clusterFile(t, text); err != nil {
					t.Fatal(err)
				}
				b, err := a.Open(t.Context(), d[0])
				if err != nil {
					t.Errorf("%s: %v", text, err)
					continue
				}
				components, _ := b.Components()
				var names []string
				for _, one := range components {
					names = append(names, one.Name)
				}
				if slices.Sort(names); !slices.Equal(names, want) {
					t.Errorf("%s: got %q, want %q", text, names, want)
				}
			}
			a.Cluster = &ClusterFile{Repositories: map[string]string{other: "vendo"}}
			if _, err := a.Open(t.Context(), d[0]); err == nil || !strings.Contains(err.Error(), "vendo is no directory in ") {
				t.Errorf("a directory that is not there: got %v", err)
			}
		})
	}
}

// An older state has no directory of another repository, which a person checks out beside the state that is tried.
func TestBefore_OtherRepositories(t *testing.T) {
	files := flux(map[string]string{
		"cluster/other.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: other, namespace: flux-system}\nspec: {interval: 1h, url: https://example.com/team/other}\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: extra, namespace: flux-system}\nspec:\n  interval: 10m\n  path: ./deploy\n  sourceRef: {kind: GitRepository, name: other}\n",
	})
	then := filepath.Join(repo(t, files), "cluster")
	files["vendor/deploy/a.yaml"] = strings.ReplaceAll(webRelease, "name: web,", "name: extra,")
	a, err := FindApp(t.Context(), filepath.Join(repo(t, files), "cluster"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Cluster = &ClusterFile{Repositories: map[string]string{"https://example.com/team/other": "./vendor"}}
	old, err := a.Before(t.Context(), then)
	if err != nil {
		t.Fatal(err)
	}
	d, err := bundle.ByName([]string{a.Deployer})
	if err != nil {
		t.Fatal(err)
	}
	b, err := old.Open(t.Context(), d[0])
	if err != nil {
		t.Fatal(err)
	}
	components, _ := b.Components()
	if len(components) != 3 {
		t.Errorf("got %v", components)
	}
}

// A cluster file gives what SOPS has encrypted its values, and --init asks for them.
func TestOpen_EncryptedValues(t *testing.T) {
	files := substituted("  postBuild: {substituteFrom: [{kind: Secret, name: vars}]}\n")
	files["cluster/apps.yaml"] += "  decryption: {provider: sops}\n"
	files["cluster/vars.yaml"] = strings.NewReplacer("name: a", "name: vars, namespace: flux-system", "password:", "N:").Replace(sopsSecret)
	files["apps/web.yaml"] = strings.Replace(files["apps/web.yaml"], "  values:", "  valuesFrom: [{kind: Secret, name: a}]\n  values:", 1)
	files["apps/secret.yaml"] = strings.NewReplacer("name: a", "name: a, namespace: web", "password:", "values.yaml:").Replace(sopsSecret)
	files["apps/kustomization.yaml"] = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [web.yaml, secret.yaml]\n"
	a, err := FindApp(t.Context(), filepath.Join(repo(t, files), "cluster"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := bundle.ByName([]string{a.Deployer})
	if err != nil {
		t.Fatal(err)
	}
	missing, err := a.Missing(t.Context(), d[0])
	if err != nil {
		t.Fatal(err)
	}
	if missing.Variables["N"] == "" || !slices.Equal(missing.Secrets["web/a"], []string{"values.yaml"}) {
		t.Errorf("got %+v", missing)
	}
	if a.Cluster, err = clusterFile(t, "variables: {N: '7', values.yaml: 'text: mine'}\nsecrets: {web/a: [values.yaml]}\n"); err != nil {
		t.Fatal(err)
	}
	l := newLayout(t.Context(), a.repo)
	l.cluster = a.Cluster
	if err := l.flux(a, bundle.FluxGit); err != nil {
		t.Fatal(err)
	}
	var text string
	for _, content := range l.files {
		text += string(content)
	}
	for _, want := range []string{"replicas: 7", "values.yaml: 'text: mine'"} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s, want %q", text, want)
		}
	}
}

// The Components of Kustomize are built with what names them, and not by themselves.
func TestOpen_WholeRepository(t *testing.T) {
	files := flux(map[string]string{
		"parts/kustomization.yaml":      "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [more]\n",
		"parts/more/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
		"parts/more/a.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '${APP}'}\n",
	})
	if _, err := open(t, repo(t, files), ""); err != nil {
		t.Error(err)
	}
}
