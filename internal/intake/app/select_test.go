package app

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// A selection delivers the apps that it names, with what they depend on, and one that names none is an error.
func TestOpen_Select(t *testing.T) {
	helmfile := map[string]string{"helmfile.yaml": "releases:\n- {name: web, namespace: web, chart: ./charts/web, needs: [redis/redis]}\n- {name: redis, namespace: redis, chart: ./charts/web}\n", "charts/web/Chart.yaml": webChart, "charts/web/templates/web.yaml": webLabelled}
	waits := flux(nil)
	waits["cluster/base.yaml"] += "  wait: true\n"
	for name, c := range map[string]struct {
		files   map[string]string
		at      string
		selects []string
		want    []string
		err     string
	}{
		"an Application":               {argo(nil), "apps", []string{"web"}, []string{"web"}, ""},
		"by its kind":                  {argo(nil), "apps", []string{"Application/w*"}, []string{"web"}, ""},
		"by its namespace":             {argo(nil), "apps", []string{"namespace=redis"}, []string{"redis"}, ""},
		"two":                          {argo(nil), "apps", []string{"web", "redis"}, []string{"redis", "web"}, ""},
		"none":                         {argo(nil), "apps", []string{"wib"}, nil, "--select wib: no app of this path is selected by it; did you mean web?; there are: Application/redis, Application/web"},
		"one of two patterns":          {argo(nil), "apps", []string{"web", "namespace=none"}, nil, "--select namespace=none"},
		"a HelmRelease, and before it": {waits, "cluster", []string{"web"}, []string{"redis", "web"}, ""},
		"a HelmRelease by itself":      {flux(nil), "cluster", []string{"HelmRelease/redis"}, []string{"redis"}, ""},
		"all of a Kustomization":       {flux(nil), "cluster", []string{"Kustomization/base"}, []string{"redis"}, ""},
		"no HelmRelease":               {flux(nil), "cluster", []string{"none"}, nil, "there are: HelmRelease/redis, HelmRelease/web"},
		"a release of helmfile":        {helmfile, "helmfile.yaml", []string{"web"}, []string{"web"}, ""},
		"one app":                      {map[string]string{"web/Chart.yaml": webChart, "web/templates/web.yaml": webLabelled}, "web", []string{"web"}, nil, "is one app"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := FindApp(t.Context(), filepath.Join(repo(t, c.files), c.at), nil)
			if err != nil {
				t.Fatal(err)
			}
			a.Select = c.selects
			d, err := bundle.ByName([]string{a.Deployer})
			if err != nil {
				t.Fatal(err)
			}
			b, err := a.Open(t.Context(), d[0])
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
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

// What a Kustomization waits for does not count where nothing of it is selected.
func TestOpen_SelectWithoutChecks(t *testing.T) {
	files := flux(nil)
	files["cluster/base.yaml"] += "  wait: false\n  healthChecks: [{apiVersion: x.y/v1, kind: Widget, name: a, namespace: redis}]\n"
	for selected, want := range map[string]int{"web": 0, "redis": 1} {
		a, err := FindApp(t.Context(), filepath.Join(repo(t, files), "cluster"), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := newLayout(t.Context(), a.repo)
		l.selects = newSelection([]string{selected})
		if err := l.flux(a, bundle.FluxGit); err != nil {
			t.Fatal(err)
		}
		if len(l.Checks) != want {
			t.Errorf("--select %s: got %+v", selected, l.Checks)
		}
	}
}
