package intake

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// A bundle whose charts are inside of it delivers what one delivers that names them, in every lane.
func TestVendoredRoundTrip(t *testing.T) {
	six, err := bundle.ByNameFor([]string{"all"}, recipe.July)
	if err != nil {
		t.Fatal(err)
	}
	six = append(six, mustDeployer(t, bundle.Helmfile))
	if testing.Short() {
		six = []bundle.Deployer{mustDeployer(t, bundle.FluxOCI), mustDeployer(t, bundle.ArgoCDOCI)}
	}
	own, err := bundle.Prepare(context.Background(), ownInput(t, "eks-training"))
	if err != nil {
		t.Fatal(err)
	}
	charts, records, err := publish.VendorCharts(context.Background(), own.Components, own.Charts)
	if err != nil || len(records) == 0 {
		t.Fatal(records, err)
	}
	objects := func(e *bundle.Expectation) []string {
		var all []string
		for _, o := range e.Objects {
			all = append(all, fmt.Sprintf("%s %s %v %v", o.Release, path.Base(o.Template), o.Hook, o.Object.Object))
		}
		slices.Sort(all)
		return all
	}
	unreached := func(e *bundle.Expectation) (all []string) {
		for _, w := range e.Warnings {
			if text, _, ok := strings.Cut(w, " of chart "); ok && strings.Contains(w, "scheduling path") {
				all = append(all, text)
			}
		}
		slices.Sort(all)
		return all
	}
	steered := func(e *bundle.Expectation) (all []string) {
		for _, w := range e.Workloads {
			for _, p := range slices.Concat(w.SelectorPaths, w.TolerationPaths) {
				all = append(all, w.Kind+" "+w.Name+" "+p.Path)
			}
		}
		slices.Sort(all)
		return all
	}
	for _, d := range six {
		t.Run(d.Name(), func(t *testing.T) {
			in := own
			in.Vendored = charts
			made := elsewhere(t, d, in)
			if err := publish.VendoredProvenance(made, records); err != nil {
				t.Fatal(err)
			}
			dir := written(t, made)
			_, _, again := readBack(t, dir, d, own)
			want, err := d.Bundle(context.Background(), ownInput(t, "eks-training").InRegistry(cellRegistry, cellRegistry, d.Name()))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "objects", objects(&want.Expectation), objects(&again.Expectation))
			same(t, "warnings of paths", unreached(&want.Expectation), unreached(&again.Expectation))
			found := steered(&again.Expectation)
			for _, path := range steered(&want.Expectation) {
				if !slices.Contains(found, path) {
					t.Errorf("the value path by which a pod is placed is not known: %s", path)
				}
			}
			for _, r := range again.Expectation.Releases {
				if !r.Local {
					t.Errorf("%s has its chart from elsewhere", r.Name)
				}
				if chart, ok := strings.CutSuffix(r.Name, "-post"); ok && !slices.Contains(r.DependsOn, chart) {
					t.Errorf("%s depends on %q, and not on its chart", r.Name, r.DependsOn)
				}
			}
			// Another archive than provenance.yaml says is refused.
			for i := range made.Files {
				if f := &made.Files[i]; strings.HasSuffix(f.Path, ".tgz") {
					f.Content = append(slices.Clone(f.Content), 0)
					break
				}
			}
			if err := made.Sum(); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(context.Background(), written(t, made), d); err == nil || !strings.Contains(err.Error(), "SHA-256") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What waits for a component is read back, in its own place, and its Job can run on simulated nodes.
func TestReadinessRoundTrip(t *testing.T) {
	own := ownInput(t, "kind")
	first := own.Components[0].Name
	files := fstest.MapFS{"components/" + first + "/readiness.yaml": {Data: []byte("apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: \"{{ x }}\"}\n")}}
	lanes := []string{bundle.Helm, bundle.ArgoCDHelmOCI, bundle.ArgoCDOCI, bundle.ArgoCDGit}
	if testing.Short() {
		lanes = lanes[:2]
	}
	for _, name := range lanes {
		d := mustDeployer(t, name)
		in := own
		var gates []string
		var err error
		if in.Components, gates, err = bundle.ReadinessGates(files, func(file string) string { return file }, own.Components, name, "gate:1"); err != nil || len(gates) != 1 {
			t.Fatal(gates, err)
		}
		made := elsewhere(t, d, in)
		if err := bundle.WaitUntilReady(made, gates); err != nil {
			t.Fatal(err)
		}
		waits := slices.ContainsFunc(made.Files, func(f bundle.File) bool { return strings.Contains(string(f.Content), "--wait-for-jobs") })
		if waits != (name == bundle.Helm) {
			t.Errorf("%s: waits: %t", name, waits)
		}
		_, _, again := readBack(t, written(t, made), d, own)
		at := slices.IndexFunc(again.Expectation.Releases, func(r bundle.Release) bool { return r.Name == gates[0] })
		if at < 1 || again.Expectation.Releases[at-1].Component != first {
			t.Fatalf("%s: releases %v", name, again.Expectation.Releases)
		}
		job := slices.IndexFunc(again.Expectation.Workloads, func(w bundle.Workload) bool { return w.Release == gates[0] && w.Kind == "Job" })
		if job < 0 {
			t.Fatalf("%s: no Job waits", name)
		}
		if w := again.Expectation.Workloads[job]; len(w.PodSpec.Tolerations) != 1 || bundle.FormatToleration(w.PodSpec.Tolerations[0]) != bundle.FormatToleration(bundle.KwokScheduling().SystemTolerations[0]) {
			t.Errorf("%s: got tolerations %v", name, w.PodSpec.Tolerations)
		}
		if i := slices.IndexFunc(again.Expectation.Objects, func(o bundle.Object) bool { return o.Release == gates[0] && o.Object.GetKind() == "ConfigMap" }); i < 0 || !strings.Contains(fmt.Sprint(again.Expectation.Objects[i].Object.Object["data"]), "{{ x }}") {
			t.Errorf("%s: the test is not in the bundle as it was written", name)
		}
	}
}
