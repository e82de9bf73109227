package matrix

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/reuse"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
	"github.com/nvidia/aicr-action/internal/verify/probe"
	"github.com/nvidia/aicr-action/internal/verify/validate"
	"github.com/nvidia/aicr-action/kwok"
)

// fingerprinted is versionOnly with a fingerprint.
type fingerprinted struct {
	versionOnly
	is string
}

func (f fingerprinted) Fingerprint() string { return f.is }
func (fingerprinted) Kind() string          { return "test" }

// reusable is a runner of the tiny recipe that has all inputs and starts nothing.
func reusable(t *testing.T, tiny *tinyRecipe) (*Runner, *Reuser) {
	t.Helper()
	r := &Runner{Platform: fingerprinted{is: "one"}, Inputs: Inputs{Nodes: []simulate.NodeGroup{}}, Rerun: func(result.Cell) string { return "again" }}
	tiny.use(t, r)
	verdicts, err := reuse.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return r, &Reuser{Store: verdicts, Harness: "h", Settings: "s", RunID: "run1"}
}

func plansThrough(t *testing.T, r *Runner, deployers ...string) []Plan {
	t.Helper()
	all, err := bundle.ByName(deployers)
	if err != nil {
		t.Fatal(err)
	}
	plans, err := r.Plan("tiny", all)
	if err != nil {
		t.Fatal(err)
	}
	return plans
}

// Every file and patch of a kustomization is an input of its own; which directory stands for its
// source is not.
func TestInputsOfAKustomization(t *testing.T) {
	r, u := reusable(t, newTinyRecipe())
	plan := plansThrough(t, r, bundle.Helm)[0]
	key := func(k recipe.Kustomization) string {
		t.Helper()
		plan.input.Components = []recipe.Component{{ComponentRef: recipe.ComponentRef{Name: "k", Type: recipe.TypeKustomize}, Kustomization: &k}}
		in, err := u.Inputs(t.Context(), r, plan)
		if err != nil {
			t.Fatal(err)
		}
		return in.Key()
	}
	file := func(path, text string) []recipe.Manifest {
		return []recipe.Manifest{{Path: path, File: "somewhere/" + path, Content: []byte(text)}}
	}
	before := key(recipe.Kustomization{Dir: "a", Files: file("a/x.yaml", "x")})
	for name, k := range map[string]recipe.Kustomization{
		"a file": {Dir: "a", Files: file("a/x.yaml", "y")}, "its path": {Dir: "a", Files: file("a/y.yaml", "x")}, "a patch": {Dir: "a", Files: file("a/x.yaml", "x"), PatchFiles: file("p", "p")}, "the directory": {Dir: "b", Files: file("a/x.yaml", "x")},
	} {
		if key(k) == before {
			t.Errorf("%s: the key stays the same", name)
		}
	}
	moved := recipe.Kustomization{Dir: "a", Files: file("a/x.yaml", "x"), InPlace: "elsewhere"}
	moved.Files[0].File = "elsewhere/a/x.yaml"
	if key(moved) != before {
		t.Error("where the files are changes the key")
	}
}

// Each input, flipped alone, changes the key, and is named. What is not an input does not change
// it.
func TestInputsOfACell(t *testing.T) {
	type world struct {
		r    *Runner
		u    *Reuser
		plan Plan
	}
	make := func(t *testing.T) *world {
		t.Helper()
		r, u := reusable(t, newTinyRecipe())
		return &world{r, u, plansThrough(t, r, bundle.Helm)[0]}
	}
	component := func(do func(*recipe.Component)) func(*world) {
		return func(w *world) {
			w.plan.input.Components = slices.Clone(w.plan.input.Components)
			do(&w.plan.input.Components[0])
		}
	}
	for name, tt := range map[string]struct {
		flip    func(*world)
		changed []string
	}{
		"nothing":           {func(*world) {}, nil},
		"the harness":       {func(w *world) { w.u.Harness = "other" }, []string{"harness"}},
		"the settings":      {func(w *world) { w.u.Settings = "other" }, []string{"settings"}},
		"the platform":      {func(w *world) { w.r.Platform = fingerprinted{is: "two"} }, []string{"platform"}},
		"Kubernetes":        {func(w *world) { w.plan.input.KubeVersion = "v1.99.0" }, []string{"Kubernetes version"}},
		"the deployer":      {func(w *world) { w.plan.Cell.Deployer = bundle.FluxOCI }, []string{"deployer"}},
		"the recipe":        {func(w *world) { r := *w.plan.input.Recipe; r.DeploymentOrder = nil; w.plan.input.Recipe = &r }, []string{"recipe"}},
		"the scheduling":    {func(w *world) { w.plan.input.Scheduling.SystemNodeSelector = map[string]string{"a": "b"} }, []string{"scheduling"}},
		"the nodes":         {func(w *world) { w.plan.nodes = oneNode() }, []string{"nodes"}},
		"the health policy": {func(w *world) { w.r.Health = health.Policy{Entries: []health.Entry{{}}} }, []string{"health policy"}},
		"a health check":    {func(w *world) { w.plan.checks.content = map[string]string{"a": "x"} }, []string{"health checks"}},
		"a probe":           {func(w *world) { w.plan.probes = []*probe.Probe{{Name: "a", Content: "x"}} }, []string{"probes (new)"}},
		"a controller":      {func(w *world) { w.plan.controllers = []infra.JobController{{Name: "trainer", Version: "v1"}} }, []string{"controllers (new)"}},
		"a phase":           {func(w *world) { w.r.Validate = []validate.Phase{validate.Readiness} }, []string{"validation phases"}},
		"a value":           {component(func(c *recipe.Component) { c.Values = map[string]any{"x": 1} }), []string{"component a: values"}},
		"a manifest":        {component(func(c *recipe.Component) { c.Manifests = []recipe.Manifest{{Path: "m.yaml", Content: []byte("x")}} }), []string{"component a: manifests"}},
		"a kustomization": {component(func(c *recipe.Component) {
			c.Chart, c.Kustomization = "", &recipe.Kustomization{Files: []recipe.Manifest{{Path: "kustomization.yaml"}}}
		}), []string{"component a: chart (gone)", "component a: kustomization (new)"}},
		"a registry path":     {component(func(c *recipe.Component) { c.NodeScheduling.NodeCountPaths = []string{"x"} }), []string{"component a: registry"}},
		"a chart's bytes":     {func(w *world) { w.plan.input.Charts = otherCharts(t) }, []string{"component a: chart"}},
		"clusters ahead":      {func(w *world) { w.r.Ahead = 3 }, nil},
		"the budgets":         {func(w *world) { w.r.Budgets.Scheduling = time.Hour }, nil},
		"where it published":  {func(w *world) { w.plan.input.RepoURL, w.plan.input.ChartRepository = "oci://x/y", "oci://x/z" }, nil},
		"the line of a value": {component(func(c *recipe.Component) { c.Origins = map[string]recipe.Origin{"x": {File: "f", Line: 9}} }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := make(t)
			before, err := w.u.Inputs(t.Context(), w.r, w.plan)
			if err != nil {
				t.Fatal(err)
			}
			tt.flip(w)
			w.u.charts = nil
			after, err := w.u.Inputs(t.Context(), w.r, w.plan)
			if err != nil {
				t.Fatal(err)
			}
			if got := after.Changed(before); !slices.Equal(got, tt.changed) {
				t.Errorf("changed: got %q, want %q", got, tt.changed)
			}
			if same := after.Key() == before.Key(); same != (len(tt.changed) == 0) {
				t.Errorf("same key: %t", same)
			}
		})
	}
}

// Every new field of a bundle's input must be classified here: either it is part of the key, or it
// is on this list.
func TestInputs_EveryField(t *testing.T) {
	known := map[string][]string{
		// hashed: Recipe, Components, Scheduling, Charts (by each chart's bytes), KubeVersion, Helm (in its lanes), Split;
		// Direct is never reused, nor is a bundle of another program, which alone has Given
		"bundle.Input": {"Recipe", "Components", "Scheduling", "Charts", "KubeVersion", "Direct", "Given", "Helm", "Split",
			// where a bundle is published; part of this program; made from the others
			"ChartRepository", "PlainHTTP", "RepoURL", "TargetRevision", "Project", "APIs", "prepared",
			// injected values are in the values too; a cell is always rendered; only what another
			// program laid out may be empty
			"PutIn", "Unrendered", "MayBeEmpty",
			// only aicr bundle, and only matrix check --served, set them
			"Vendored", "WholeDefinitions"},
		// hashed: Values, PreManifests, Manifests, Kustomization (its files and patches), NodeScheduling,
		// GKECriticalPriority, ValueOverrideKeys; ComponentRef is part of the recipe
		"recipe.Component": {"ComponentRef", "ValueOverrideKeys", "NodeScheduling", "GKECriticalPriority", "Values", "PreManifests", "Manifests", "Kustomization",
			// for people only
			"DisplayName", "Origins", "Declared", "Registered", "Undone",
			// a recipe that one of these checks refuses has no plan
			"Validations"},
	}
	for _, of := range []reflect.Type{reflect.TypeFor[bundle.Input](), reflect.TypeFor[recipe.Component]()} {
		for i := range of.NumField() {
			if name := of.Field(i).Name; !slices.Contains(known[of.String()], name) {
				t.Errorf("%s has a field %s: is it an input of a verdict (Reuser.Inputs), or not?", of, name)
			}
		}
	}
}

func oneNode() []simulate.NodeGroup {
	return []simulate.NodeGroup{{Profile: &simulate.Profile{Spec: simulate.ProfileSpec{NodeType: "system", Zones: []string{"z"}}}, Count: 1}}
}

func otherCharts(t *testing.T) catalog.Source {
	t.Helper()
	tiny := newTinyRecipe()
	tiny.part("a").add("more.yaml", "# one comment more\n")
	_, charts := tiny.write(t)
	source, err := catalog.FromDir(charts)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func passedOf(r *Runner, plans []Plan) []result.Result {
	var all []result.Result
	for _, p := range plans {
		res := r.newResult(p.Cell)
		res.Status, res.Pods, res.Started, res.Duration = result.Passed, 7, time.Now().UTC(), time.Minute
		res.Artifacts, res.Phases = "/gone", []result.Phase{{Name: "cluster", Ahead: time.Second}, {Name: "sync", Duration: time.Second}}
		res.ReadyAfter = time.Second
		all = append(all, res)
	}
	return all
}

func TestReuse(t *testing.T) {
	r, u := reusable(t, newTinyRecipe())
	u.URL = "https://ci.example.com/1"
	lanes := []string{bundle.Helm, bundle.FluxOCI}
	plans := plansThrough(t, r, lanes...)
	find := func(of ...string) Found {
		t.Helper()
		f, err := u.Find(t.Context(), r, plansThrough(t, r, of...))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	testkit.WantText(t, "an empty store", fmt.Sprint(find(lanes...).Why), "{tiny helm has not passed in a run that kept it")

	red := passedOf(r, plans)
	red[1].Status = result.Failed
	if kept, problems := u.Keep(t.Context(), r, plans, red); kept != 1 || problems != nil {
		t.Fatalf("kept %d, problems %q", kept, problems)
	}
	if f := find(lanes...); len(f.Reused) != 0 || len(f.Rest) != 2 {
		t.Errorf("one lane was red: reused %d, run %d", len(f.Reused), len(f.Rest))
	}
	if f := find(bundle.Helm); len(f.Reused) != 1 {
		t.Errorf("the lane that passed, alone: reused %d", len(f.Reused))
	}

	// The other lane passes in another run, so that no run has compared the two.
	if kept, _ := u.Keep(t.Context(), r, plans[1:], passedOf(r, plans[1:])); kept != 1 {
		t.Fatal("not kept")
	}
	testkit.WantText(t, "two runs", fmt.Sprint(find(lanes...).Why), "not in one run")

	if kept, _ := u.Keep(t.Context(), r, plans, passedOf(r, plans)); kept != 2 {
		t.Fatal("not kept")
	}
	f := find(lanes...)
	if len(f.Rest) != 0 || len(f.Reused) != 2 || f.Why != nil {
		t.Fatalf("reused %d, run %d, why %v", len(f.Reused), len(f.Rest), f.Why)
	}
	got := f.Reused[0]
	if got.Status != result.Reused || got.Reused == nil || got.Reused.Run != "run1" || got.Pods != 7 || got.Duration != 0 || got.Artifacts != "" || got.Phases != nil || got.Reused.Duration != time.Minute+time.Second || got.ReadyAfter != 0 {
		t.Errorf("got %+v", got)
	}
	testkit.WantText(t, "where from", strings.Join(got.ReusedFrom, "\n"), "passed in run run1 on ", "https://ci.example.com/1")

	u.Harness = "newer"
	testkit.WantText(t, "another harness", fmt.Sprint(find(lanes...).Why), "changed since helm passed (run run1): harness")
}

// What is damaged, or cannot be known, is run.
func TestReuse_UnknownInputs(t *testing.T) {
	r, u := reusable(t, newTinyRecipe())
	plans := plansThrough(t, r, bundle.Helm)
	if kept, _ := u.Keep(t.Context(), r, plans, passedOf(r, plans)); kept != 1 {
		t.Fatal("not kept")
	}
	files, _ := filepath.Glob(filepath.Join(u.Store.Dir(), "cells", "*", "*", "*.json"))
	if len(files) != 1 {
		t.Fatalf("files: %q", files)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], raw[:100], 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := u.Find(t.Context(), r, plans)
	if err != nil || len(f.Rest) != 1 || len(f.Problems) != 1 || !strings.Contains(f.Problems[0], "is damaged") {
		t.Errorf("damaged: got %+v, %v", f, err)
	}
	plans[0].input.Direct = true
	if f, err := u.Find(t.Context(), r, plans); err != nil || len(f.Rest) != 1 || !strings.Contains(fmt.Sprint(f.Why), "--charts direct") {
		t.Errorf("direct: got %+v, %v", f, err)
	}
	if kept, problems := u.Keep(t.Context(), r, plans, passedOf(r, plans)); kept != 0 || len(problems) != 1 {
		t.Errorf("direct: kept %d, %q", kept, problems)
	}
}

// sharedPlans are those of two shipped recipes that differ in their name and in a constraint that no
// cell evaluates.
func sharedPlans(t *testing.T) (*Runner, []Plan) {
	t.Helper()
	r, _ := reusable(t, newTinyRecipe())
	profiles, err := simulate.LoadProfiles(kwok.Files, "profiles")
	if err != nil {
		t.Fatal(err)
	}
	r.Store, r.Profiles, r.Charts, r.Nodes = shippedtest.Recipes(t), profiles, shippedtest.Charts(t), simulate.DefaultNodeGroups(2, 4)
	var plans []Plan
	for _, name := range []string{"h100-eks-ubuntu-training", "eks-training", "h100-eks-training"} {
		all, err := bundle.ByName([]string{bundle.Helm, bundle.FluxOCI})
		if err != nil {
			t.Fatal(err)
		}
		more, err := r.Plan(name, all)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, more...)
	}
	return r, plans
}

// The cells of two recipes are one if all is equal that a verdict or the report of a failure depends
// on, and never otherwise.
func TestShare(t *testing.T) {
	r, plans := sharedPlans(t)
	lines := r.Share(t.Context(), plans, 2)
	var got []string
	for _, p := range plans {
		got = append(got, p.same)
	}
	if want := []string{"", "", "", "", "h100-eks-ubuntu-training", "h100-eks-ubuntu-training"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "h100-eks-training is the same as h100-eks-ubuntu-training ") {
		t.Errorf("said: %q", lines)
	}
	for name, change := range map[string]func(r *Runner, p *Plan){
		"nodes":   func(_ *Runner, p *Plan) { p.nodes = p.nodes[:1] },
		"a value": func(_ *Runner, p *Plan) { p.input.Components[0].Values = map[string]any{"other": true} },
		"where a value is set": func(_ *Runner, p *Plan) {
			p.input.Components[0].Origins = map[string]recipe.Origin{"x": {File: "other"}}
		},
		"where it is declared": func(_ *Runner, p *Plan) { p.input.Components[0].Declared.Line++ },
		"a manifest": func(_ *Runner, p *Plan) {
			p.input.Components[0].Manifests = []recipe.Manifest{{Path: "x", Content: []byte("y")}}
		},
		"a chart's version":    func(_ *Runner, p *Plan) { p.input.Components = slices.Clone(p.input.Components[1:]) },
		"Kubernetes":           func(_ *Runner, p *Plan) { p.input.KubeVersion = "v1.34.0" },
		"its checks":           func(_ *Runner, p *Plan) { p.checks.content = map[string]string{"x": "y"} },
		"a probe":              func(_ *Runner, p *Plan) { p.probes = []*probe.Probe{{Name: "x", Content: "y"}} },
		"a validation":         func(_ *Runner, p *Plan) { p.validation = &validate.Plan{} },
		"an upgrade":           func(_ *Runner, p *Plan) { p.base = &base{} },
		"charts from anywhere": func(_ *Runner, p *Plan) { p.input.Direct = true },
		"another program":      func(_ *Runner, p *Plan) { p.bundler = ownBundler{} },
		"skipped":              func(_ *Runner, p *Plan) { p.skip = "why" },
		"the service": func(_ *Runner, p *Plan) {
			res := *p.input.Recipe
			res.Criteria.Service = "gke"
			p.input.Recipe = &res
		},
		"the order": func(_ *Runner, p *Plan) {
			res := *p.input.Recipe
			res.DeploymentOrder = res.DeploymentOrder[1:]
			p.input.Recipe = &res
		},
		"a component called like it": func(_ *Runner, p *Plan) {
			res := *p.input.Recipe
			res.Metadata.Name = p.input.Components[0].Name
			p.input.Recipe = &res
		},
		"clusters are kept":        func(r *Runner, _ *Plan) { r.Keep = true },
		"constraints are measured": func(r *Runner, _ *Plan) { r.Validate = []validate.Phase{"readiness"} },
	} {
		t.Run(name, func(t *testing.T) {
			r, plans := sharedPlans(t)
			last := &plans[len(plans)-1] // one lane is enough
			last.input.Components = slices.Clone(last.input.Components)
			change(r, last)
			if lines := r.Share(t.Context(), plans, 2); len(lines) > 0 || last.same != "" {
				t.Errorf("they are one cell: %q", lines)
			}
		})
	}
}

// program makes bundles whose digests are these, by recipe and deployer.
type program struct {
	ownBundler
	other map[string]string
}

func (*program) Likeness(context.Context, bundle.Input, string) (string, error) { return "alike", nil }

func (m *program) Digest(_ context.Context, d bundle.Deployer, in bundle.Input, _ string) (string, error) {
	return "digest" + m.other[bundle.RecipeName(in.Recipe)+" "+d.Name()], nil
}

// Cells whose bundles another program makes are one if the bundles are equal in each lane, and all
// else that a verdict depends on is.
func TestShare_Made(t *testing.T) {
	const first, last = "h100-eks-ubuntu-training", "h100-eks-training"
	for name, tc := range map[string]struct {
		change func(m *program, r *Runner, p *Plan)
		want   string
	}{
		"equal":          {func(*program, *Runner, *Plan) {}, first},
		"another bundle": {func(m *program, _ *Runner, _ *Plan) { m.other = map[string]string{last + " flux-oci": "2"} }, ""},
		"no bundle":      {func(m *program, r *Runner, p *Plan) { r.Bundler = ownBundler{} }, ""},
		"other nodes":    {func(_ *program, _ *Runner, p *Plan) { p.nodes = p.nodes[:1] }, ""},
		"other checks":   {func(_ *program, _ *Runner, p *Plan) { p.checks.content = map[string]string{"x": "y"} }, ""},
		"an upgrade":     {func(_ *program, _ *Runner, p *Plan) { p.base = &base{} }, ""},
		"the values of this program's own bundle": {func(_ *program, _ *Runner, p *Plan) {
			p.input.Components = slices.Clone(p.input.Components)
			p.input.Components[0].Values = map[string]any{"other": true}
		}, first},
	} {
		t.Run(name, func(t *testing.T) {
			r, plans := sharedPlans(t)
			m := &program{}
			r.Bundler, r.Dir = m, t.TempDir()
			for i := range plans {
				plans[i].bundler = m
			}
			tc.change(m, r, &plans[len(plans)-1]) // one lane is enough
			lines := r.Share(t.Context(), plans, 2)
			if got := plans[len(plans)-1].same; got != tc.want || (len(lines) > 0) != (tc.want != "") {
				t.Errorf("got %q, %q; want %q", got, lines, tc.want)
			}
			if left, err := os.ReadDir(r.Dir); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// A cell that is the same as another one does not run, and ends as that one does once its lanes are
// compared, red or green.
func TestShare_Verdicts(t *testing.T) {
	plans := []Plan{
		{Cell: result.Cell{Recipe: "a", Deployer: "helm"}, notes: []string{"of a"}}, {Cell: result.Cell{Recipe: "a", Deployer: "flux-oci"}},
		{Cell: result.Cell{Recipe: "b", Deployer: "flux-oci"}, same: "a"}, {Cell: result.Cell{Recipe: "b", Deployer: "helm"}, same: "a", notes: []string{"of b"}},
	}
	r := testRunner()
	var ends []string
	r.OnEvent = func(e Event) { ends = append(ends, string(e.Kind)+" "+e.Cell.String()) }
	var ran []string
	results, err := r.runAll(t.Context(), plans, 2, func(_ context.Context, p Plan) finishedCell {
		ran = append(ran, p.Cell.String())
		return passed(t, p.Cell.Recipe, p.Cell.Deployer, int64(len(p.Cell.Deployer))) // the lanes differ
	})
	if err != nil || len(ran) != 2 {
		t.Fatalf("ran %q, %v", ran, err)
	}
	flux, helm := results[2], results[3]
	if flux.Reason != reason.LaneDivergence || flux.Cell != plans[2].Cell || flux.SameAs == nil || flux.Rerun != "again b/helm,flux-oci" {
		t.Errorf("flux-oci: got %+v", flux)
	}
	if helm.Status != result.Passed || helm.SameAs == nil || helm.SameAs.Recipe != "a" || helm.Rerun != "again b/helm" || !slices.Equal(helm.NotVerified, []string{"of b"}) {
		t.Errorf("helm: got %+v", helm)
	}
	if results[0].SameAs != nil || results[1].SameAs != nil {
		t.Error("the cells that ran are the same as others")
	}
	for _, p := range plans {
		if want := "cell-end " + p.Cell.String(); !slices.Contains(ends, want) {
			t.Errorf("no event %q in %q", want, ends)
		}
	}
}
