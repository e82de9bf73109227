// Package matrix runs cells: it plans them, gives each one a cluster, takes it through its steps,
// and compares the lanes of a recipe. It is the only package that knows recipes, bundles, clusters
// and lanes together, and it has the table of lanes. It must not know which platform its clusters
// come from, or how a report is written.
package matrix

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/durations"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
	"github.com/nvidia/aicr-action/internal/verify/probe"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// Runner runs cells, each on a cluster of its own.
type Runner struct {
	// Platform makes the clusters.
	Platform infra.Platform
	Profiles []simulate.Profile
	Health   health.Policy
	Store    *recipe.Store
	// RecipesName is how results call the recipes directory.
	RecipesName string
	// DataName is how results call the data directory that is laid over it; empty without one.
	DataName string
	Charts   bundle.ChartSource
	// Bundler, if set, makes the bundles in place of this program.
	Bundler Bundler
	// Direct, if set, means that controllers pull the charts from where the recipe says; it gives
	// what they may reach for that.
	Direct  func([]recipe.Component) (*infra.Egress, error)
	Budgets lane.Budgets
	// Deadline is when sync work must have ended; MaxStrikes the number of consecutive sync
	// timeouts that end the run, 0 for never.
	Deadline   gate.Deadline
	MaxStrikes int
	// FailFast: no cell is begun once one is red.
	FailFast bool
	// Costs, if set, is what cells took in earlier runs; First are recipes to begin with. Both are
	// about the order alone.
	Costs *durations.Book
	First []string
	// Memory, if set, says how many bytes this program may still use; see awaitMemory.
	Memory func() (uint64, error)
	// Slowness, if set, is how many times slower than at its best this machine was since a time:
	// what a deadline then says is not said of the recipe.
	Slowness func(since time.Time) float64
	// Ahead is how many clusters are started, with their controllers, before a worker is free for
	// their cells, as memory allows; 0 for none.
	Ahead int
	// Nodes are the simulated nodes of each cluster; a group without a profile gets the one for the
	// recipe.
	Nodes []simulate.NodeGroup
	// RunID is part of the names of clusters and directories; ClusterPrefix is KWOK_CLUSTER. Dir is
	// the run's own directory.
	RunID         string
	Dir           string
	ClusterPrefix string
	// Artifacts, if set, is where evidence and logs are left.
	Artifacts string
	// NoSnapshot leaves the snapshot of a failed cell's cluster out of the evidence.
	NoSnapshot bool
	Keep       bool
	// Checks: run the components' health checks after the gate.
	Checks bool
	// Probes: run the jobs that a user of the recipe would run (recipes/probes) after that.
	Probes bool
	// JobControllers are those that run for real in the cells whose probes have objects of theirs,
	// and what they need. The clusters must be an infra.JobHost that has them.
	JobControllers []infra.JobController
	// Validate are the phases of the recipe's own validation block to run after that, in their
	// order.
	Validate []validate.Phase
	// Chaos, if set, is what to break in a cell that has passed all else. Its clusters need the
	// KWOK stages of package chaos.
	Chaos    *chaos.Plan
	Progress infra.Progress
	// Log, if set, gets the harness's log besides the file of each cell.
	Log io.Writer
	// Rerun makes the command that runs a cell again.
	Rerun func(result.Cell) string
	// OnResult, if set, gets all results whenever a cell has ended, one call at a time; cells that
	// have not ended are in it as not run.
	OnResult func([]result.Result)
	// OnEvent, if set, gets every step's begin and end, and every cell's end.
	OnEvent func(Event)
	// Watching, if set, gets what watches the nodes and pods of a cell as soon as its cluster is
	// there. It must be done with it at CellEnd.
	Watching func(result.Cell, *placement.Observer)
	// onCaptured, if set, gets the objects of each cell that has passed.
	onCaptured func(result.Cell, *compare.Captured)

	planned int
}

// Plan is a cell that was found runnable before any process was started.
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
	// validation is what the recipe's validation phases want; nil without --validate.
	validation *validate.Plan
	notes      []string // of the result
	egress     *infra.Egress
	number     int // unique within the run
	// attempts are those before this one.
	attempts []result.Attempt
	// ready, if set, is called when the cell is ready to deploy.
	ready func()
}

// RunsControllers reports whether controllers of jobs run for real in the cell.
func (p Plan) RunsControllers() bool { return len(p.controllers) > 0 }

// Components are the recipe's components as its cells deploy them.
func (p Plan) Components() []recipe.Component { return p.input.Components }

// Plan resolves a recipe and chooses its nodes. Nothing is started; whatever is wrong with the
// recipe's files is found here.
func (r *Runner) Plan(name string, deployers []bundle.Deployer) ([]Plan, error) {
	res, err := r.Store.ResolveName(name)
	if err != nil {
		return nil, &reason.Error{Reason: reason.Usage, Err: err}
	}
	components, err := r.Store.Components(res)
	if err != nil {
		return nil, &reason.Error{Reason: reason.Usage, Err: err}
	}
	if err := r.checkConstraints(res); err != nil {
		return nil, err
	}
	nodes, err := simulate.ChooseProfiles(r.Profiles, res.Criteria.Service, res.Criteria.Accelerator, r.Nodes)
	if err != nil {
		o, _ := r.Store.Overlay(name) // resolved above
		at := o.CriteriaOrigin()
		return nil, &recipe.FileError{File: at.File, Line: at.Line, Err: fmt.Errorf("recipe %s: %w", name, err)}
	}
	checks, err := r.healthChecks(name, components)
	if err != nil {
		return nil, err
	}
	probes, err := r.planProbes(res, nodes)
	if err != nil {
		return nil, err
	}
	controllers, err := r.planControllers(probes, nodes)
	if err != nil {
		return nil, err
	}
	validation, err := r.planValidation(res)
	if err != nil {
		return nil, err
	}
	input := bundle.Input{
		Recipe: res, Components: components, Scheduling: bundle.KwokScheduling(), Charts: r.Charts, KubeVersion: r.Platform.KubeVersion(), APIs: r.Platform.APIs(), PlainHTTP: true,
	}
	var egress *infra.Egress
	notes := r.unevaluated(res)
	if r.Direct != nil {
		if egress, err = r.Direct(components); err != nil {
			return nil, fmt.Errorf("recipe %s: %w", name, err)
		}
		input.Direct = true
		notes = append(notes, directNote)
	}
	var plans []Plan
	shared := &rendering{}
	for _, d := range deployers {
		r.planned++
		plans = append(plans, Plan{Cell: result.Cell{Recipe: name, Deployer: d.Name()}, Deployer: d, input: input, rendering: shared, bundler: r.Bundler, nodes: nodes, checks: checks, probes: probes, controllers: controllers, validation: validation, notes: notes, egress: egress, number: r.planned})
	}
	return plans, nil
}

// PlanBundle plans the one cell of a bundle that exists already and that Bundler gives. The input
// has its recipe, its components and what it has in place of generated charts. The nodes are those
// of the service and accelerator that were asked for.
func (r *Runner) PlanBundle(d bundle.Deployer, in bundle.Input, service, accelerator string) (Plan, error) {
	if err := r.checkConstraints(in.Recipe); err != nil {
		return Plan{}, err
	}
	nodes, err := simulate.ChooseProfiles(r.Profiles, service, accelerator, r.Nodes)
	if err != nil {
		return Plan{}, err
	}
	in.Charts, in.KubeVersion, in.APIs, in.PlainHTTP = r.Charts, r.Platform.KubeVersion(), r.Platform.APIs(), true
	r.planned++
	cell := result.Cell{Recipe: bundle.RecipeName(in.Recipe), Deployer: d.Name()}
	return Plan{Cell: cell, Deployer: d, input: in, rendering: &rendering{}, bundler: r.Bundler, nodes: nodes, notes: in.Recipe.Unevaluated(), number: r.planned}, nil
}

// directNote is among what a run does not verify.
const directNote = "charts: with --charts direct the controllers pull from the recipe's repositories, and whether they get the bytes of charts.lock is not compared"

// checkConstraints: what the cell's own API server breaks would be verified on a cluster that the
// recipe does not want.
func (r *Runner) checkConstraints(res *recipe.Result) error {
	err := res.CheckKubeVersion(r.Platform.KubeVersion())
	var broken *recipe.BrokenConstraintError
	switch {
	case errors.As(err, &broken):
		return &reason.Error{Reason: reason.ConstraintBroken, Err: err}
	case err != nil:
		return &reason.Error{Reason: reason.Usage, Err: err}
	}
	return nil
}

// ControllersFor are the kinds of controllers that the plans' lanes need.
func ControllersFor(plans []Plan) []infra.ControllerKind {
	var kinds []infra.ControllerKind
	for _, p := range plans {
		for _, k := range NewLane(p.Deployer).Controllers() {
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	return kinds
}
