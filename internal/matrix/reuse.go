package matrix

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/reuse"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Reuser keeps the verdicts of a run's cells that pass, and finds those of earlier runs.
type Reuser struct {
	Store *reuse.Store
	// Harness is the digest of this program, since whatever it does to a cell is an input.
	Harness string
	// Settings is the digest of the settings.
	Settings string
	// RunID and URL identify the run in which a verdict can be looked up.
	RunID, URL string

	charts map[catalog.Ref]string // digests
}

// Inputs returns everything that the verdict of a plan's cell depends on. Budgets and deadlines are
// no inputs: they say how long to wait for a verdict, and do not change it. The address of the
// published bundle, which differs in every cell, is none either. An error means that the inputs
// cannot be known, so that the verdict can be neither kept nor reused.
func (u *Reuser) Inputs(ctx context.Context, r *Runner, p Plan) (reuse.Inputs, error) {
	switch {
	case p.input.Direct:
		return nil, fmt.Errorf("with --charts direct the bytes that the controllers download are unknown")
	case p.bundler != nil:
		return nil, fmt.Errorf("another program makes the bundle, and what it makes it of is not known")
	case u.Harness == "":
		return nil, fmt.Errorf("this program cannot read its own file")
	}
	type input struct {
		name  string
		value any
	}
	all := []input{
		{"harness", u.Harness}, {"settings", u.Settings}, {"platform", r.PlatformOf(p.Cell.Recipe).Fingerprint()}, {"Kubernetes version", p.input.KubeVersion},
		{"deployer", p.Cell.Deployer}, {"recipe", p.input.Recipe}, {"scheduling", p.input.Scheduling}, {"nodes", simulate.Nodes(p.nodes)},
		{"health policy", r.Health}, {"health checks", p.checks.content}, {"validation phases", r.Validate},
	}
	if groups := simulate.Growing(p.nodes); len(groups) > 0 {
		all = append(all, input{"groups of nodes", groups})
	}
	if p.input.Helm > 0 && bundle.RunsHelm(p.Cell.Deployer) {
		all = append(all, input{"Helm", p.input.Helm})
	}
	if p.input.Split != nil {
		all = append(all, input{"classes", p.input.Split})
	}
	if len(p.probes) > 0 {
		content := map[string]string{}
		for _, one := range p.probes {
			content[one.Name] = one.Content
		}
		all = append(all, input{"probes", content})
	}
	if checks := r.bench().Inputs(p.Cell.Recipe); len(checks) > 0 {
		all = append(all, input{"ignored checks", checks})
	}
	if len(r.Existing) > 0 {
		all = append(all, input{"what exists before", r.Existing})
	}
	if r.Remove {
		all = append(all, input{"removal", true})
	}
	if r.Rollback && p.base != nil && p.Cell.Sequence == "" {
		all = append(all, input{"rollback", true})
	}
	if p.Cell.Sequence != "" {
		all = append(all, input{"sequence", p.Cell.Sequence})
	}
	if r.Drift {
		all = append(all, input{"second delivery", true})
	}
	if len(p.controllers) > 0 {
		all = append(all, input{"controllers", p.controllers})
	}
	for i := range p.input.Components {
		c := &p.input.Components[i]
		name := "component " + c.Name
		all = append(all, input{name + ": values", c.Values}, input{name + ": manifests", c.Manifests}, input{name + ": manifests before the chart", c.PreManifests}, input{name + ": registry", []any{c.NodeScheduling, c.ValueOverrideKeys, c.GKECriticalPriority}})
		if c.Kustomization != nil {
			files := map[string][]byte{} // without the names that reports give them
			for _, f := range c.Kustomization.Inputs() {
				files[f.Path] = f.Content
			}
			all = append(all, input{name + ": kustomization", []any{c.Kustomization.Dir, files}})
		}
		if c.ManifestOnly() {
			continue
		}
		digest, err := u.chart(ctx, p.input.Charts, catalog.RefOf(c))
		if err != nil {
			return nil, fmt.Errorf("chart of %s: %w", c.Name, err)
		}
		all = append(all, input{name + ": chart", digest})
	}
	if p.base != nil {
		other := *u
		other.charts = nil // its chart source is another one
		before, err := other.Inputs(ctx, r, Before([]Plan{p})[0])
		if err != nil {
			return nil, fmt.Errorf("what runs before: %w", err)
		}
		all = append(all, input{"what runs before", before})
	}
	in := reuse.Inputs{}
	for _, one := range all {
		if err := in.Add(one.name, one.value); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// chart returns the digest of a chart, which many recipes share.
func (u *Reuser) chart(ctx context.Context, source catalog.Source, ref catalog.Ref) (string, error) {
	if d, ok := u.charts[ref]; ok {
		return d, nil
	}
	ch, _, err := source.Load(ctx, ref)
	if err != nil {
		return "", err
	}
	d, err := archive.Digest(ch)
	if err != nil {
		return "", err
	}
	if u.charts == nil {
		u.charts = map[catalog.Ref]string{}
	}
	u.charts[ref] = d
	return d, nil
}

// Found is what a store holds for the plans of a run.
type Found struct {
	// Rest are the plans that have to run. Reused are the verdicts of the others.
	Rest   []Plan
	Reused []result.Result
	// Why says of each recipe whose cells run why they do. Problems are records that could not be used.
	Why      []Unkept
	Problems []string
}

// Unkept is why no verdict of a recipe is reused.
type Unkept struct{ Recipe, Why string }

// Find looks for verdicts of earlier runs. The lanes of a recipe are reused together or not at all:
// that they produce the same objects is part of the verdict, and is known only of lanes that passed
// in one run.
func (u *Reuser) Find(ctx context.Context, r *Runner, plans []Plan) (Found, error) {
	var f Found
	for len(plans) > 0 {
		n := 1
		for n < len(plans) && plans[n].Cell.Recipe == plans[0].Cell.Recipe {
			n++
		}
		lanes := plans[:n]
		plans = plans[n:]
		records, why, err := u.find(ctx, r, lanes, &f)
		switch {
		case ctx.Err() != nil:
			return Found{}, context.Cause(ctx)
		case err != nil:
			why = err.Error()
		}
		if why != "" {
			f.Why = append(f.Why, Unkept{lanes[0].Cell.Recipe, why})
			f.Rest = append(f.Rest, lanes...)
			continue
		}
		for i, rec := range records {
			f.Reused = append(f.Reused, rec.Result(r.newResult(lanes[i].Cell)))
		}
	}
	return f, nil
}

// find returns the records of a recipe's lanes, or why they cannot be reused.
func (u *Reuser) find(ctx context.Context, r *Runner, lanes []Plan, f *Found) (records []*reuse.Record, why string, err error) {
	for _, p := range lanes {
		in, err := u.Inputs(ctx, r, p)
		if err != nil {
			return nil, "", err
		}
		rec, err := u.Store.Find(p.Cell, in.Key())
		if err != nil {
			f.Problems = append(f.Problems, err.Error())
		}
		if rec == nil {
			return nil, u.reasonToRun(p.Cell, in), nil
		}
		records = append(records, rec)
	}
	for _, a := range records {
		for _, b := range records {
			if !slices.Contains(a.Compared, b.Key) {
				return nil, fmt.Sprintf("%s and %s passed, but not in one run, so that their objects were not compared", a.Of.Deployer, b.Of.Deployer), nil
			}
		}
	}
	return records, "", nil
}

// reasonToRun says which inputs have changed since the cell last passed.
func (u *Reuser) reasonToRun(c result.Cell, in reuse.Inputs) string {
	last := u.Store.Latest(c)
	if last == nil {
		return c.Deployer + " has not passed in a run that kept it"
	}
	changed := in.Changed(last.Inputs)
	if len(changed) == 0 {
		return c.Deployer + ": what was kept cannot be used"
	}
	return fmt.Sprintf("changed since %s passed (run %s): %s", c.Deployer, last.Run, strings.Join(lists.AtMost(changed, 4), ", "))
}

// Keep stores the verdicts of the cells that passed in this run. It returns a message for each that
// could not be stored; the run's own verdict does not depend on it.
func (u *Reuser) Keep(ctx context.Context, r *Runner, plans []Plan, results []result.Result) (kept int, problems []string) {
	var passed []reuse.Passed
	for i, p := range plans {
		if i >= len(results) || results[i].Status != result.Passed || results[i].Cell != p.Cell {
			continue
		}
		in, err := u.Inputs(ctx, r, p)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %s", p.Cell, err))
			continue
		}
		passed = append(passed, reuse.Passed{Inputs: in, Of: results[i]})
	}
	kept, more := u.Store.PutAll(passed, u.RunID, u.URL)
	return kept, append(problems, more...)
}

// Share looks for recipes that are equal but for their names and for constraints that no cell
// evaluates: one of them runs, and its verdicts are the others' too. It returns a line for each of
// these. n is how many commands of another bundler may run at a time.
func (r *Runner) Share(ctx context.Context, plans []Plan, n int) []string {
	if r.Keep || len(r.Validate) > 0 { // each has a cluster of its own, or decides about its own constraints
		return nil
	}
	u, all, made := &Reuser{Harness: "this process"}, equalRecipes{}, r.made(ctx, plans, n)
	for _, i := range r.startOrder(plans, 1) {
		key := ""
		if plans[i].unfit == nil { // criteria decide about that, too
			key = u.sameKey(ctx, r, plans[i], made[i])
		}
		all.Add(plans[i].Cell, key)
	}
	same := all.Same()
	for i := range plans {
		plans[i].same = same[plans[i].Cell.Recipe]
	}
	return all.Lines(same)
}

// mustRun: the plan's cell is decided by itself in any case.
func (p *Plan) mustRun() bool { return p.base != nil || p.skip != "" || p.validation != nil }

// made are the digests of the bundles that another program makes; empty where this program does.
func (r *Runner) made(ctx context.Context, plans []Plan, n int) []string {
	maker, ok := r.Bundler.(equalMaker)
	if !ok || len(plans) == 0 {
		return make([]string, len(plans))
	}
	dir, err := os.MkdirTemp(r.Dir, "twins-")
	if err != nil {
		return make([]string, len(plans)) // each runs by itself
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the run's own directory, which goes away
	var cells []equalCell
	for _, p := range plans {
		cells = append(cells, equalCell{Recipe: p.Cell.Recipe, Deployer: p.Deployer, Input: p.input, Alone: p.mustRun()})
	}
	return madeEqual(ctx, maker, cells, dir, n)
}

// sameKey is the digest of all that the verdict of a plan's cell depends on but its recipe's name,
// and of the places in files that a report would name; made is that of a bundle that another program
// makes. It is empty for a cell that must run.
func (u *Reuser) sameKey(ctx context.Context, r *Runner, p Plan, made string) string {
	if made != "" { // what it makes the bundle of is in the bundle
		p.bundler, p.input.Components = nil, nil
	}
	in, err := u.Inputs(ctx, r, p)
	if err != nil || p.mustRun() {
		return ""
	}
	res := p.input.Recipe
	delete(in, "recipe")
	of := []any{res.APIVersion, res.Metadata.SelectedProfile, res.Criteria.Service, res.Criteria.Accelerator, res.Criteria.Nodes, res.ComponentRefs, res.DeploymentOrder, res.Validation, made}
	for i := range p.input.Components {
		c := &p.input.Components[i]
		if strings.Contains(c.Name, bundle.RecipeName(res)) { // the names of what a deployer makes could collide
			return ""
		}
		of = append(of, c.DisplayName, c.Origins, c.Declared, c.Registered, c.Undone, c.Kustomization)
	}
	if in.Add("what of the recipe counts", of) != nil {
		return ""
	}
	return in.Key()
}
