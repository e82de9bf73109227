package app

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// An app has changed if what deploys it has, its values, its chart here or the version of one from elsewhere. What can be
// of any app changes each.
func TestChanged(t *testing.T) {
	waits := flux(map[string]string{"base/namespaces.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: redis}\n"})
	releases := helmfile(map[string]string{"all.yaml": "helmDefaults: {wait: true}\nreleases:\n- {name: web, namespace: web, chart: ./charts/web, values: [{replicas: 1}]}\n- {name: other, namespace: web, chart: ./charts/other}\n",
		"charts/other/Chart.yaml": "apiVersion: v2\nname: other\nversion: 1.0.0\n", "charts/other/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.example.com}\nspec: {group: example.com, scope: Cluster, names: {kind: A, plural: a}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"
	for name, c := range map[string]struct {
		files    map[string]string
		at, file string
		from, to string // of file; all of it without from
		want     []string
		removed  []string
	}{
		"nothing":                            {argo(nil), "apps", "env/test.yaml", "a", "a", nil, nil},
		"a file of no app":                   {argo(nil), "apps", "README.md", "", "hello", nil, nil},
		"a comment, which moves its lines":   {argo(nil), "apps", "apps/web.yaml", "# the first line\n", "# the first line\n# the second\n", nil, nil},
		"a values file":                      {argo(nil), "apps", "env/test.yaml", "3", "4", []string{"web"}, nil},
		"an Application":                     {argo(nil), "apps", "apps/redis.yaml", "namespace: redis", "namespace: other", []string{"redis"}, nil},
		"a template of a chart here":         {argo(nil), "apps", "charts/web/templates/web.yaml", "apps/v1", "apps/v1beta1", []string{"web"}, nil},
		"an app that is gone":                {argo(nil), "apps", "apps/redis.yaml", "", "", nil, []string{"redis"}},
		"a HelmRelease":                      {waits, "cluster", "apps/web.yaml", "replicas: 4", "replicas: 5", []string{"web"}, nil},
		"a version":                          {waits, "cluster", "base/redis.yaml", "1.2.3", "1.2.4", []string{"redis"}, nil},
		"the address of charts":              {waits, "cluster", "base/redis.yaml", "https://charts.example.com", "https://other.example.com", []string{"redis"}, nil},
		"a patch of a kustomization":         {waits, "cluster", "apps/kustomization.yaml", "resources: [web.yaml]\n", "resources: [web.yaml]\npatches: [{target: {kind: HelmRelease}, patch: '[{\"op\": \"add\", \"path\": \"/spec/timeout\", \"value\": \"1m\"}]'}]\n", []string{"web"}, nil},
		"a Namespace":                        {waits, "cluster", "base/namespaces.yaml", "metadata: {name: redis}", "metadata: {name: redis, labels: {a: b}}", []string{"redis"}, nil},
		"a definition, which is of any app":  {waits, "cluster", "base/crd.yaml", "", crd, []string{"redis", "web"}, nil},
		"what a Kustomization waits for":     {waits, "cluster", "cluster/base.yaml", "interval: 10m\n", "interval: 10m\n  wait: true\n", []string{"web"}, nil}, // it now depends on redis
		"a release of helmfile":              {releases, "all.yaml", "all.yaml", "replicas: 1", "replicas: 2", []string{"web"}, nil},
		"the chart of a release of helmfile": {releases, "all.yaml", "charts/other/templates/a.yaml", "name: a", "name: b", []string{"other"}, nil},
		"defaults of all releases":           {releases, "all.yaml", "all.yaml", "wait: true", "wait: false", []string{"other", "web"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(c.files)
			before, err := FindApp(t.Context(), filepath.Join(repo(t, files), c.at), nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.from == "" {
				files = with(files, map[string]string{c.file: c.to})
			} else if files[c.file] = strings.Replace(files[c.file], c.from, c.to, 1); files[c.file] == c.files[c.file] && c.from != c.to {
				t.Fatal("nothing was changed")
			}
			after, err := FindApp(t.Context(), filepath.Join(repo(t, files), c.at), nil)
			if err != nil {
				t.Fatal(err)
			}
			d, err := bundle.ByName([]string{after.Deployer})
			if err != nil {
				t.Fatal(err)
			}
			then, err := before.Open(t.Context(), d[0])
			if err != nil {
				t.Fatal(err)
			}
			now, err := after.Open(t.Context(), d[0])
			if err != nil {
				t.Fatal(err)
			}
			changed, removed, err := now.Changed(then)
			if slices.Sort(changed); err != nil || !slices.Equal(changed, c.want) || !slices.Equal(removed, c.removed) {
				t.Errorf("changed: %q, want %q; removed: %q, want %q; %v", changed, c.want, removed, c.removed, err)
			}
		})
	}
}

// Only what has changed is delivered, in Flux with what it depends on.
func TestOpen_Changed(t *testing.T) {
	waits := flux(nil)
	waits["cluster/base.yaml"] += "  wait: true\n"
	for name, c := range map[string]struct {
		files   map[string]string
		at      string
		changed []string
		want    []string
	}{
		"an Application":        {argo(nil), "apps", []string{"web"}, []string{"web"}},
		"a HelmRelease":         {waits, "cluster", []string{"redis"}, []string{"redis"}},
		"and before it":         {waits, "cluster", []string{"web"}, []string{"redis", "web"}},
		"a release of helmfile": {helmfile(map[string]string{"all.yaml": "releases:\n- {name: late, namespace: web, chart: ./charts/web, needs: [early]}\n- {name: early, namespace: web, chart: ./charts/web}\n"}), "all.yaml", []string{"late"}, []string{"late"}},
	} {
		a, err := FindApp(t.Context(), filepath.Join(repo(t, c.files), c.at), nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Changed, a.Since = c.changed, "main"
		d, err := bundle.ByName([]string{a.Deployer})
		if err != nil {
			t.Fatal(err)
		}
		b, err := a.Open(t.Context(), d[0])
		if err != nil {
			t.Fatal(name, err)
		}
		components, _ := b.Components()
		var names []string
		for _, one := range components {
			names = append(names, one.Name)
		}
		if slices.Sort(names); !slices.Equal(names, c.want) {
			t.Errorf("%s: got %q, want %q", name, names, c.want)
		}
	}
}
