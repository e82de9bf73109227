package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
)

func TestDisabledComponent(t *testing.T) {
	in := fixture()
	in.Components[0].Overrides = map[string]any{"enabled": false}
	e := mustBundle(t, helmDeployer{}, in).Expectation
	for _, r := range e.Releases {
		if r.Component == "web" || slices.Contains(r.DependsOn, "web") {
			t.Errorf("the disabled component is in release %+v", r)
		}
	}
	if !slices.Contains(e.Warnings, "monitor depends on web, which the recipe disables") {
		t.Errorf("warnings %q", e.Warnings)
	}
}

func TestUndone_Warning(t *testing.T) {
	in := fixture()
	in.Components[1].Undone = []string{"monitor has the check CheckDisk"}
	if e := mustBundle(t, helmDeployer{}, in).Expectation; !slices.Contains(e.Warnings, "monitor has the check CheckDisk") {
		t.Errorf("warnings %q", e.Warnings)
	}
}

// A name that the recipe gives must become exactly one release, one Application and one
// HelmRelease.
func TestComponents_Invalid(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"name", func(in *Input) { in.Components[0].Name = "Web_1" }, "cannot be a Helm release's"},
		{"kustomize", func(in *Input) { in.Components[0].Type = "Kustomize" }, "Kustomize"},
		{"nothing", func(in *Input) { in.Components[0].Chart = "" }, "neither a chart nor manifestFiles"},
		{"no source", func(in *Input) { in.Components[0].Source = "" }, "no source"},
		{"unknown dependency", func(in *Input) { in.Components[0].DependencyRefs = []string{"nope"} }, "nope, which is not in the recipe"},
		{"order", func(in *Input) { in.Components[0].DependencyRefs = []string{"gpu"} }, "comes before gpu"},
		{"two of a name", func(in *Input) { in.Components[3].Name = "gpu-post" }, "release gpu-post has the same name"},
		{"no charts", func(in *Input) { in.Charts = nil }, "no chart source"},
		{"chart missing", func(in *Input) { in.Components[0].Version = "v9.9.9" }, "recipes/overlays/base.yaml:12: web: chart web v9.9.9 is not in chart source dir:testdata/charts, which has web v1.4.0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := fixture()
			test.change(&in)
			_, err := helmDeployer{}.Bundle(context.Background(), in)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// Helm takes dots in the name of a release, and a bundle may give a long name another one in Helm, as Flux does.
func TestComponents_Named(t *testing.T) {
	long := strings.Repeat("w", 60)
	for _, test := range []struct {
		name, inHelm string
		valid        bool
	}{{"web.v1", "", true}, {".web", "", false}, {long, "", false}, {long, "apps-www-1a2b3c", true}, {"web", long, false}} {
		in := fixture()
		for i := range in.Components {
			for j, dependency := range in.Components[i].DependencyRefs {
				if dependency == in.Components[0].Name {
					in.Components[i].DependencyRefs[j] = test.name
				}
			}
		}
		in.Components[0].Name = test.name
		if test.inHelm != "" {
			in = in.Named(map[string]string{test.name: test.inHelm})
		}
		if _, err := (helmDeployer{}).Bundle(context.Background(), in); (err == nil) != test.valid {
			t.Errorf("%s, in Helm %q: got %v", test.name, test.inHelm, err)
		}
	}
}

func TestBundle_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (helmDeployer{}).Bundle(ctx, fixture()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Prepare saves the work, and must not change the result.
func TestPrepare(t *testing.T) {
	prepared, err := Prepare(context.Background(), fixture())
	if err != nil {
		t.Fatal(err)
	}
	prepared.Charts = catalog.FromFS(os.DirFS(t.TempDir()), "gone") // it is not asked again
	for _, d := range Deployers() {
		a, b := mustBundle(t, d, fixture()), mustBundle(t, d, prepared)
		if !reflect.DeepEqual(a.Files, b.Files) {
			t.Errorf("%s: other files after Prepare", d.Name())
		}
		if len(a.Expectation.Workloads) != len(b.Expectation.Workloads) || !reflect.DeepEqual(a.Expectation.Warnings, b.Expectation.Warnings) {
			t.Errorf("%s: other expectation after Prepare", d.Name())
		}
	}
	elsewhere := prepared
	elsewhere.ChartRepository = "oci://127.0.0.1:5500/charts"
	if _, err := (helmDeployer{}).Bundle(context.Background(), elsewhere); err == nil || !strings.Contains(err.Error(), "prepared with a chart repository") {
		t.Errorf("a chart repository where there was none: %v", err)
	}
}

// Cells that run at the same time share one rendering, and each has its own registry. Each bundle
// names its own registry, and changing it does not change another cell's bundle.
func TestPrepare_SeveralRegistries(t *testing.T) {
	in := fixture()
	in.PlainHTTP = true
	prepared, err := Prepare(context.Background(), in.InRegistry("prepared:1", "prepared:1", Helm))
	if err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	for i, d := range Deployers() {
		group.Go(func() error {
			host := fmt.Sprintf("127.0.0.1:%d", 5500+i)
			got, err := d.Bundle(context.Background(), prepared.InRegistry(host, host, d.Name()))
			if err != nil {
				return err
			}
			want, err := d.Bundle(context.Background(), in.InRegistry(host, host, d.Name()))
			if err != nil {
				return err
			}
			if !reflect.DeepEqual(got.Files, want.Files) || !reflect.DeepEqual(got.Expectation.Overrides, want.Expectation.Overrides) {
				t.Errorf("%s: another bundle than without Prepare, with the overrides %q", d.Name(), got.Expectation.Overrides)
			}
			for _, inst := range got.Installs {
				for key := range inst.Values {
					delete(inst.Values, key)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	again := mustBundle(t, helmDeployer{}, prepared)
	if len(again.Installs[0].Values) == 0 {
		t.Error("one bundle's values are those of all")
	}
}

// A Job that Helm runs at upgrades only is one of what Argo CD runs, also after Prepare.
func TestPrepare_UpgradeHooks(t *testing.T) {
	in := fixture()
	gpu := &in.Components[2]
	gpu.Manifests = append(gpu.Manifests, recipe.Manifest{Path: "components/gpu/manifests/upgrade.yaml", Content: []byte("apiVersion: batch/v1\nkind: Job\nmetadata: {name: at-upgrade, annotations: {helm.sh/hook: pre-upgrade}}\nspec: {template: {spec: {containers: [{name: c}]}}}\n")})
	prepared, err := Prepare(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Deployers() {
		has := slices.ContainsFunc(mustBundle(t, d, prepared).Expectation.Workloads, func(w Workload) bool { return w.Name == "at-upgrade" && w.Hook })
		if has != ByArgoCD(d.Name()) {
			t.Errorf("%s: the Job of upgrades is expected: %v", d.Name(), has)
		}
	}
}

// Argo CD takes the version of a chart in an OCI registry as a tag, in which a + stands as _. Only a
// chart that the recipe itself has in such a registry keeps it.
func TestRemoteSource_BuildMetadata(t *testing.T) {
	for source, want := range map[string]string{"https://charts.example.com": "1.0.0_b5", "oci://registry.example.com/charts": "1.0.0+b5"} {
		r := &release{Release: Release{Chart: "c", ChartVersion: "1.0.0+b5", FromOCI: strings.HasPrefix(source, ociScheme)}, source: "oci://127.0.0.1:5500/charts"}
		got := remoteSource(r)
		if got["targetRevision"] != want || got["repoURL"] != "oci://127.0.0.1:5500/charts/c" {
			t.Errorf("of %s: got %v, want the tag %s", source, got, want)
		}
		r.source = "https://charts.example.com"
		if got := remoteSource(r); got["targetRevision"] != "1.0.0+b5" {
			t.Errorf("in its own repository: got %v", got)
		}
	}
}
