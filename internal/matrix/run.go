// Package matrix runs cells: it plans them, gives each one a cluster, takes it through its steps,
// and compares the lanes of a recipe. It is the only package that knows recipes, bundles, clusters
// and lanes together, and it has the table of lanes. It must not know which platform its clusters
// come from, or how a report is written.
package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/preconditions"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/probe"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// Runner runs cells, each on a cluster of its own.
type Runner struct {
	// Platform makes the clusters. PlatformFor, if set, returns the one for a recipe's cells instead;
	// Platform if it returns nil. Calls for the same recipe return the same.
	Platform    infra.Platform
	PlatformFor func(recipe string) infra.Platform
	Progress    infra.Progress
	Inputs
	Limits
	Schedule
	Output
	Verification
	Hooks
	// From, if set, is what each recipe is upgraded from, in a cell besides its first installation.
	From *From
	// Rerun returns the command that runs a cell again.
	Rerun func(result.Cell) string

	planned int
}

// Plan is a cell that can be run. It was checked before any process is started.
type Plan struct {
	Cell     result.Cell
	Deployer bundle.Deployer
	input    bundle.Input
	// rendering is shared by the lanes of the recipe.
	rendering *rendering
	bundler   Bundler
	nodes     []simulate.NodeGroup
	checks    planChecks
	// probes are those for the recipe; none without --probes.
	probes []*probe.Probe
	// controllers are those of the runner's JobControllers that the probes need, in the order in
	// which they start.
	controllers []infra.JobController
	// validation is what the recipe's validation phases check; nil without --validate.
	validation *validate.Plan
	// base is what runs before; nil for a first installation.
	base *base
	// unfit is what AICR's bundler refuses of the recipe: its cells fail with that before they have a cluster, and those of
	// other recipes run. Nil if it takes it.
	unfit error
	// same is the recipe whose cells decide about this one's too (Share); empty if the cell runs.
	same string
	// skip says why the cell is not run; empty if it is.
	skip  string
	notes []string // of the result
	// absent is what the cell runs without; nil if it has all.
	absent *Absent
	egress *infra.Egress
	number int // unique within the run
	// attempts are those before this one.
	attempts []result.Attempt
	// ready, if set, is called when the cell is ready to deploy.
	ready func()
}

// RunsControllers reports whether controllers of jobs run for real in the cell.
func (p Plan) RunsControllers() bool { return len(p.controllers) > 0 }

// Shares is true if another recipe's cell decides about this one (Share), so that it takes no time.
func (p Plan) Shares() bool { return p.same != "" }

// Components returns the recipe's components as its cells deploy them.
func (p Plan) Components() []recipe.Component { return p.input.Components }

// Plan resolves a recipe, chooses its nodes and returns a plan per deployer. It starts nothing. An
// error is about the recipe's files.
func (r *Runner) Plan(name string, deployers []bundle.Deployer) ([]Plan, error) {
	shared, err := r.planRecipe(name)
	if err != nil {
		return nil, err
	}
	if err := r.checkGit(deployers); err != nil { // a misspelt recipe is said first
		return nil, err
	}
	var plans []Plan
	for _, d := range deployers {
		p := shared
		r.planned++
		p.Cell, p.Deployer, p.number = result.Cell{Recipe: name, Deployer: d.Name()}, d, r.planned
		plans = append(plans, p)
	}
	upgrades, err := r.PlanUpgrades(name, plans)
	return append(plans, upgrades...), err
}

// planRecipe returns what the plans of a recipe's lanes have in common.
func (r *Runner) planRecipe(name string) (p Plan, err error) {
	res, err := r.Store.ResolveName(name)
	if err != nil {
		return p, &reason.Error{Reason: reason.Usage, Err: err}
	}
	components, err := r.Store.Components(res)
	if err != nil {
		return p, &reason.Error{Reason: reason.Usage, Err: err}
	}
	on := r.PlatformOf(name)
	if err := checkConstraints(res, on); err != nil {
		return p, err
	}
	if p.nodes, err = simulate.ForRecipe(simulate.Assume(r.Profiles), res.Criteria.Service, res.Criteria.Accelerator, res.DeploymentOrder, r.Nodes); err != nil {
		o, _ := r.Store.Overlay(name) // resolved above
		at := o.CriteriaOrigin()
		return p, &recipe.FileError{File: at.File, Line: at.Line, Err: fmt.Errorf("recipe %s: %w", name, err)}
	}
	p.nodes, p.notes = reshaped(p.nodes, components)
	if p.checks, err = r.healthChecks(name, components); err != nil {
		return p, err
	}
	if p.probes, err = r.planProbes(res, p.nodes); err != nil {
		return p, err
	}
	if p.controllers, err = r.planControllers(p.probes, p.nodes); err != nil {
		return p, err
	}
	if p.validation, err = r.planValidation(res); err != nil {
		return p, err
	}
	p.unfit = reason.Wrap(reason.BundleFailed, preconditions.Simulated(res, components, r.Bundler == nil))
	p.input = bundle.Input{
		Recipe: res, Components: components, Scheduling: bundle.KwokScheduling(), Charts: r.Charts, KubeVersion: on.KubeVersion(), APIs: r.existingAPIs(on.APIs()), PlainHTTP: true, Helm: r.Helm,
	}
	if r.Split {
		p.input.Split = map[string]string{}
		for _, e := range r.Store.Entries() {
			p.input.Split[e.Name] = e.Class
		}
		if err := bundle.CheckSplit(components, p.input.Split); err != nil {
			return p, reason.New(reason.Usage, "recipe %s: --split: %w", name, err)
		}
	}
	if sample := res.Configuration.Choice().Interfaces; sample != "" {
		p.notes = append(p.notes, "the recipe needs the networks of a cluster's GPU NICs (aicr recipe --gke-tcpxo-interfaces): "+sample+" stand for them")
	}
	p.notes = append(p.notes, r.unevaluated(res)...)
	if r.Direct != nil {
		if p.egress, err = r.Direct(components); err != nil {
			return p, fmt.Errorf("recipe %s: %w", name, err)
		}
		p.input.Direct = true
		p.notes = append(p.notes, directNote)
	}
	p.rendering, p.bundler = &rendering{}, r.Bundler
	return p, nil
}

// PlanBundle plans the one cell of an existing bundle, which Bundler gives. The input has its
// recipe, its components and its replacement for generated charts. The nodes are those of the
// service and accelerator.
func (r *Runner) PlanBundle(d bundle.Deployer, in bundle.Input, service, accelerator string) (Plan, error) {
	if err := r.checkGit([]bundle.Deployer{d}); err != nil {
		return Plan{}, err
	}
	if err := checkConstraints(in.Recipe, r.Platform); err != nil {
		return Plan{}, err
	}
	nodes, err := simulate.ChooseProfiles(r.Profiles, service, accelerator, r.Nodes)
	if err != nil {
		return Plan{}, err
	}
	in.Charts, in.KubeVersion, in.APIs, in.PlainHTTP, in.Helm = r.Charts, r.Platform.KubeVersion(), r.existingAPIs(r.Platform.APIs()), true, r.Helm
	nodes, notes := reshaped(nodes, in.Components)
	r.planned++
	cell := result.Cell{Recipe: bundle.RecipeName(in.Recipe), Deployer: d.Name()}
	return Plan{Cell: cell, Deployer: d, input: in, rendering: &rendering{}, bundler: r.Bundler, nodes: nodes, notes: append(notes, in.Recipe.Unevaluated()...), number: r.planned}, nil
}

// reshaped gives nodes as the recipe's own GPU operator leaves them: with MIG devices in place of whole GPUs.
func reshaped(nodes []simulate.NodeGroup, components []recipe.Component) ([]simulate.NodeGroup, []string) {
	for i := range components {
		if components[i].Chart != "gpu-operator" {
			continue
		}
		if cut, line := simulate.Partitioned(nodes, components[i].Values); line != "" {
			return cut, []string{line}
		}
	}
	return nodes, nil
}

// checkGit rejects lanes whose Git server this platform, or this machine, does not have. Reasons:
// USAGE, GIT_NOT_READY.
func (r *Runner) checkGit(deployers []bundle.Deployer) error {
	var git, others []string
	for _, d := range deployers {
		if bundle.ByGit(d.Name()) {
			git = append(git, d.Name())
		} else {
			others = append(others, d.Name())
		}
	}
	if len(git) == 0 {
		return nil
	}
	err := r.Platform.ServesGit()
	if reason.Of(err) != reason.Usage {
		return err
	}
	advice := "choose another deployer"
	if len(others) > 0 {
		advice = "pass --deployer " + strings.Join(others, ",")
	}
	return reason.New(reason.Usage, "%s: %w; %s, or leave out --platform", strings.Join(git, ", "), err, advice)
}

// directNote is among what a run does not verify.
const directNote = "charts: with --charts direct the controllers pull from the recipe's repositories, and whether they get the bytes of charts.lock is not compared"

// checkConstraints rejects a recipe that the cell's API server does not satisfy: it would be
// verified on a cluster that it does not support.
func checkConstraints(res *recipe.Result, on infra.Platform) error {
	err := res.CheckKubeVersion(on.KubeVersion())
	var broken *recipe.BrokenConstraintError
	switch {
	case errors.As(err, &broken):
		return &reason.Error{Reason: reason.ConstraintBroken, Err: err}
	case err != nil:
		return &reason.Error{Reason: reason.Usage, Err: err}
	}
	return nil
}

// PlatformOf returns the platform of a recipe's cells.
func (r *Runner) PlatformOf(recipe string) infra.Platform {
	if r.PlatformFor != nil {
		if p := r.PlatformFor(recipe); p != nil {
			return p
		}
	}
	return r.Platform
}

// needs is what a plan's cell is made of: what its lane starts, and Helm 4, if helmfile runs that.
func (p Plan) needs() []infra.ControllerKind {
	kinds := slices.Clone(NewLane(p.Deployer).Controllers())
	if len(simulate.Growing(p.nodes)) > 0 {
		kinds = append(kinds, infra.KarpenterProgram)
	}
	if !slices.Contains(kinds, infra.HelmfileProgram) {
		return kinds
	}
	inputs := []bundle.Input{p.input}
	if p.base != nil {
		inputs = append(inputs, p.base.input)
	}
	for _, in := range inputs {
		if major, _ := bundle.HelmOf(p.Deployer.Name(), in); major == 4 {
			return append(kinds, infra.Helm4Program)
		}
	}
	return kinds
}

// ControllersFor returns the kinds of controllers that the plans' lanes need.
func ControllersFor(plans []Plan) []infra.ControllerKind {
	var kinds []infra.ControllerKind
	for _, p := range plans {
		for _, k := range p.needs() {
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	return kinds
}
