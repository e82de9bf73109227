package intake

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
)

const cellRegistry = "127.0.0.1:5500"

// march are recipes in the form of March: what is spoilt in bundles here are lines of theirs.
const march = "../../test/recipes-march"

// shipped are the recipes of March and the simulated charts.
func shipped(t testing.TB) (*recipe.Store, catalog.Source) {
	t.Helper()
	store, err := recipe.Open(os.DirFS(march), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	charts, err := catalog.FromDir("../../kwok/charts")
	if err != nil {
		t.Fatal(err)
	}
	return store, charts
}

// ownInput is what this program makes the bundle of a shipped recipe of.
func ownInput(t testing.TB, name string) bundle.Input {
	t.Helper()
	store, charts := shipped(t)
	res, err := store.ResolveName(name)
	if err != nil {
		t.Fatal(err)
	}
	components, err := store.Components(res)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Input{
		Recipe: res, Components: components, Scheduling: bundle.KwokScheduling(), Charts: charts, PlainHTTP: true, KubeVersion: "v1.36.1", APIs: bundle.StackAPIs(),
	}
}

// elsewhere is a bundle as its maker has it: for another registry, with the recipe's own chart
// repositories.
func elsewhere(t testing.TB, d bundle.Deployer, in bundle.Input) *bundle.Bundle {
	t.Helper()
	in = in.InRegistry("elsewhere.example.org", "elsewhere.example.org", d.Name())
	in.ChartRepository, in.PlainHTTP = "", false
	b, err := d.Bundle(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// written writes a bundle to a directory.
func written(t testing.TB, b *bundle.Bundle) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	if err := b.WriteTo(dir, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustDeployer(t testing.TB, name string) bundle.Deployer {
	t.Helper()
	all, err := bundle.ByName([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// readBack opens a bundle and makes it for the registry of a cell.
func readBack(t testing.TB, dir string, d bundle.Deployer, own bundle.Input) (*Bundle, bundle.Input, *bundle.Bundle) {
	t.Helper()
	ctx := context.Background()
	b, err := Open(ctx, dir, d)
	if err != nil {
		t.Fatal(err)
	}
	in := bundle.Input{Recipe: b.Resolved(b.RecipeName()), Charts: own.Charts, PlainHTTP: true, KubeVersion: own.KubeVersion, APIs: own.APIs}
	in, made, err := b.Make(ctx, in.InRegistry(cellRegistry, cellRegistry, d.Name()))
	if err != nil {
		t.Fatal(err)
	}
	return b, in, made
}

// A bundle of this program that is written to a directory and read back as a foreign bundle has the
// same expectation: in every lane, and for any registry that it was made for.
func TestRoundTrip(t *testing.T) {
	recipes := []string{"eks-training", "h100-gke-cos-training-kubeflow", "h100-aks-ubuntu-inference-dynamo"}
	if testing.Short() {
		recipes = recipes[:1]
	}
	six, err := bundle.ByNameFor([]string{"all"}, recipe.July)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range recipes {
		own, err := bundle.Prepare(context.Background(), ownInput(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range append(six, mustDeployer(t, bundle.Helmfile)) {
			t.Run(name+"/"+d.Name(), func(t *testing.T) {
				dir := written(t, elsewhere(t, d, own))
				_, _, made := readBack(t, dir, d, own)
				cell := ownInput(t, name).InRegistry(cellRegistry, cellRegistry, d.Name())
				want, err := d.Bundle(context.Background(), cell)
				if err != nil {
					t.Fatal(err)
				}
				if d.Name() == bundle.Helmfile { // levels are its order
					byRelease(&want.Expectation)
					byRelease(&made.Expectation)
				}
				compareExpectations(t, &want.Expectation, &made.Expectation)
				for _, f := range made.Files {
					if strings.Contains(f.Path, "README") || f.Path == "recipe.yaml" || f.Path == "deploy.sh" || f.Path == "flux-root.yaml" || strings.HasPrefix(f.Path, "local/") || strings.Contains(f.Path, "/chart/") {
						continue
					}
					if strings.Contains(string(f.Content), "elsewhere.example.org") && d.Name() != bundle.Helm {
						t.Errorf("%s still has the address that the bundle was made for", f.Path)
					}
				}
			})
		}
	}
}

// outline is what a workload is expected to be, without the places that the values come from.
type outline struct {
	Component, Release, Kind, Namespace, Name, Operator string
	Replicas                                            int
	Node                                                bundle.NodeKind
	Hook, Ephemeral                                     bool
	Selectors                                           string
}

func outlines(e *bundle.Expectation) []outline {
	var all []outline
	for _, w := range e.Workloads {
		paths := map[string]bool{}
		for _, p := range w.SelectorPaths {
			paths[p.Path] = true
		}
		var names []string
		for p := range paths {
			names = append(names, p)
		}
		slices.Sort(names)
		all = append(all, outline{w.Component, w.Release, w.Kind, w.Namespace, w.Name, w.Operator, w.Replicas, w.Node, w.Hook, w.Ephemeral, strings.Join(names, " ")})
	}
	return all
}

// byRelease sorts what an expectation has by the names of releases.
func byRelease(e *bundle.Expectation) {
	slices.SortStableFunc(e.Releases, func(a, b bundle.Release) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(e.Workloads, func(a, b bundle.Workload) int { return strings.Compare(a.Release, b.Release) })
	for _, list := range [][]bundle.Object{e.Objects, e.Made} {
		slices.SortStableFunc(list, func(a, b bundle.Object) int { return strings.Compare(a.Release, b.Release) })
	}
}

func compareExpectations(t *testing.T, want, got *bundle.Expectation) {
	t.Helper()
	same(t, "workloads", outlines(want), outlines(got))
	for i := range want.Workloads {
		if i < len(got.Workloads) && !reflect.DeepEqual(want.Workloads[i].PodSpec, got.Workloads[i].PodSpec) {
			t.Errorf("the pods of %s %s differ", want.Workloads[i].Kind, want.Workloads[i].Name)
		}
		if i < len(got.Workloads) && len(want.Workloads[i].TolerationPaths) > 0 && len(got.Workloads[i].TolerationPaths) == 0 {
			t.Errorf("%s %s: no value path of the bundle is known to bring its tolerations", want.Workloads[i].Kind, want.Workloads[i].Name)
		}
	}
	objects := func(list []bundle.Object) []string {
		var all []string
		for _, o := range list {
			all = append(all, fmt.Sprintf("%s %s %v %v %v %v", o.Component, o.Release, path.Base(o.Template), o.Hook, o.Ephemeral, o.Object.Object))
		}
		return all
	}
	type release struct {
		bundle.Release
		InHelm       string
		UpgradeHooks []string
	}
	releases := func(e *bundle.Expectation) []release {
		var all []release
		for _, r := range e.Releases {
			name := r.InHelm()
			r.Given = bundle.Given{} // only another program's bundle has it
			hooks := objects(r.UpgradeHooks)
			r.UpgradeHooks = nil
			all = append(all, release{r, name, hooks})
		}
		return all
	}
	same(t, "releases", releases(want), releases(got))
	same(t, "objects that the deployer reports on", want.Delivered, got.Delivered)
	same(t, "objects", objects(want.Objects), objects(got.Objects))
	same(t, "objects that operators make", objects(want.Made), objects(got.Made))
}

// same names what only one of two lists has.
func same[T any](t *testing.T, what string, want, got []T) {
	t.Helper()
	lines := func(list []T) []string {
		var all []string
		for _, item := range list {
			all = append(all, fmt.Sprintf("%+v", item))
		}
		return all
	}
	a, b := lines(want), lines(got)
	if slices.Equal(a, b) {
		return
	}
	for _, line := range a {
		if !slices.Contains(b, line) {
			t.Errorf("%s: only when generated here: %.900s", what, line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			t.Errorf("%s: only when read back: %.900s", what, line)
		}
	}
	if !t.Failed() {
		t.Errorf("%s: the same in another order", what)
	}
}

// The charts of a bundle that a run has kept are those of the recipe's repositories: the registry of
// its cell, which the bundle names, is gone.
func TestKeptRepositories(t *testing.T) {
	d := mustDeployer(t, bundle.FluxOCI)
	made, err := d.Bundle(context.Background(), ownInput(t, "kind").InRegistry(cellRegistry, cellRegistry, d.Name()))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), written(t, made), d)
	if err != nil {
		t.Fatal(err)
	}
	components, _ := b.Components()
	for i := range components {
		if c := &components[i]; c.Chart != "" && (c.Source == "" || strings.Contains(c.Source, cellRegistry)) {
			t.Errorf("the chart of %s is from %q", c.Name, c.Source)
		}
	}
}
