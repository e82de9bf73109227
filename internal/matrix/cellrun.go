package matrix

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/checks"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/daytwo"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
	"github.com/nvidia/aicr-action/internal/verify/probe"
)

// cellOptions are what a cell needs of its runner.
type cellOptions struct {
	platform infra.Platform
	progress infra.Progress
	charts   string // the name of the chart source
	health   health.Policy
	chaos    *chaos.Plan
	drift    bool
	rollback bool
	remove   bool
	bench    *judge.Bench
	existing []Existing
	Limits
	Output
	Hooks
}

// cellRun is a cell while it runs.
type cellRun struct {
	cellOptions
	plan         Plan
	result       result.Result
	dir          string
	env          *lane.Env
	refused      []bundle.File // of a bundle that was made and is not what its recipe promises
	lane         lane.Lane
	captured     *compare.Captured      // the cell's objects, once it has passed
	second       daytwo.SecondRendering // of no bundle before it is needed
	upgrade      *upgradeRun            // nil for a first installation
	filled       *daytwo.Filled         // what operators wrote before a second delivery; nil before it
	gated        *gate.Gate             // its last poll is a debug artifact; nil before the last step
	awaited      []infra.Awaited        // what operators that run will report on
	unneeded     []infra.Unneeded       // the programs that no pod has
	own          []infra.JobController  // of users' jobs, which run as pods of the recipe
	played       []string               // schedulers that kube-scheduler simulates
	running      []string               // schedulers of the recipe's pods and probes that run, as pods of the recipe
	probes       *probe.Run             // nil before that step
	jobs         *infra.JobControllers
	watches      *observe.Watches    // nil before there is a cluster
	observer     *placement.Observer // the same
	seenJobs     *observe.Jobs       // the same
	deployed     time.Time           // when the deployment started
	log          *os.File
	turn         *turn
	startedAhead bool  // failures are not this cell's verdict, and no artifacts are kept
	closing      error // the error of close
}

// finishedCell is a cell that has ended, with its objects if it passed, for the comparison with the
// recipe's other lanes. They are no part of the result: a Secret's digest must not be printed.
type finishedCell struct {
	result.Result
	captured *compare.Captured
	unneeded []infra.Unneeded
	crash    string // how a program of the stack crashed, if that ended the cell; see infra.crashError
}

// Run runs one cell to its verdict. It returns after everything that it started has stopped; with
// Keep, the control plane stays.
func (r *Runner) Run(ctx context.Context, p Plan) result.Result { return r.runCell(ctx, p).Result }

func (r *Runner) runCell(ctx context.Context, p Plan) finishedCell {
	return r.runLane(ctx, p, NewLane(p.Deployer))
}

func (r *Runner) runLane(ctx context.Context, p Plan, l lane.Lane) finishedCell {
	c := r.newCell(p, l)
	c.turn.come(time.Now())
	return c.finish(c.run(ctx))
}

// newCell returns a cell that has not started, and whose turn has not come.
func (r *Runner) newCell(p Plan, l lane.Lane) *cellRun {
	c := &cellRun{plan: p, lane: l, turn: newTurn(nil), cellOptions: cellOptions{
		platform: r.PlatformOf(p.Cell.Recipe), progress: r.Progress, charts: r.Charts.Name(), health: r.Health, chaos: r.Chaos, drift: r.Drift, rollback: r.Rollback, remove: r.Remove, bench: r.bench(), existing: r.Existing,
		Limits: r.Limits, Output: r.Output, Hooks: r.Hooks,
	}}
	c.result = r.newResult(p.Cell)
	c.result.Attempts = slices.Clone(p.attempts)
	c.result.NotVerified = slices.Clone(p.notes)
	c.result.LeftOut = p.absent.lines()
	return c
}

// bench is the run's, or all checks.
func (r *Runner) bench() *judge.Bench {
	if r.Bench != nil {
		return r.Bench
	}
	return &judge.Bench{Checks: checks.All()}
}

// noteStart records when the cell's time started: when its turn came.
func (c *cellRun) noteStart() { c.result.Started = c.turn.at.UTC() }

// finish sets the verdict of a cell whose turn had come.
func (c *cellRun) finish(err error) finishedCell {
	c.result.Verdict = result.VerdictOf(c.plan.absent.verdict(err))
	c.result.Duration = time.Since(c.turn.at)
	if c.result.Status != result.Passed {
		return finishedCell{Result: c.result, crash: infra.CrashOf(err)}
	}
	return finishedCell{Result: c.result, captured: c.captured, unneeded: c.unneeded}
}

// newResult returns what is known of a cell before it runs.
func (r *Runner) newResult(c result.Cell) result.Result {
	on := r.PlatformOf(c.Recipe)
	made := result.Result{Cell: c, Charts: r.Charts.Name(), Recipes: r.RecipesName, Data: r.DataName, Cluster: on.Kind(), Kubernetes: on.KubeVersion(), Rerun: r.Rerun(c)}
	if r.Store == nil {
		return made // a test's own runner
	}
	if o, ok := r.Store.Overlay(c.Recipe); ok {
		made.Service = o.Effective.Service
	}
	return made
}

// step is one phase of a cell.
type step struct {
	name, phase string
	do          func(context.Context) error
	ahead       bool // may run before the cell's turn
}

// steps returns the steps of the cell, in order.
func (c *cellRun) steps() []step {
	steps := []step{
		{"Rendering the bundle", "bundle", c.makeBundle, true},
		{"Starting the cluster", "cluster", c.startCluster, true},
		{"Starting the controllers", "controllers", c.startControllers, true},
		{"Publishing charts and bundle", "push", c.publish, true},
	}
	if len(c.existing) > 0 {
		steps = slices.Insert(steps, 3, step{"Creating what the cluster already has", "existing", c.createExisting, true})
	}
	if c.plan.base != nil {
		steps = append(steps, c.upgradeSteps()...)
	} else {
		steps = append(steps,
			step{"Deploying", "deploy", c.deploy, false},
			step{"Waiting for workloads", "sync", c.gate, false},
			step{"Reading back what was delivered", "verify", c.verify, false},
		)
	}
	if c.upgradeCheckDeployer() != "" {
		steps = append(steps, step{"Asking upgrade-check what is installed", "read-back", c.checkUpgrade, false})
	}
	if len(c.plan.checks.list) > 0 {
		steps = append(steps, step{"Running the health checks", "checks", c.runChecks, false})
	}
	if len(c.plan.controllers) > 0 {
		steps = append(steps, step{"Starting the controllers of users' jobs", "job-controllers", c.startJobControllers, false})
	}
	if len(c.plan.probes) > 0 {
		steps = append(steps, step{"Running the probes", "probes", c.runProbes, false})
	}
	if c.plan.validation != nil {
		steps = append(steps, step{"Validating the recipe's phases", "validate", c.runValidation, false})
	}
	if c.drift {
		steps = append(steps, step{"Delivering a second time", "drift", c.runDrift, false})
	}
	if c.rollback && c.plan.base != nil && c.plan.Cell.Sequence == "" {
		steps = append(steps, c.rollbackSteps()...)
	}
	if c.chaos != nil {
		steps = append(steps, step{"Breaking things on purpose", "chaos", c.runChaos, false})
	}
	if c.remove {
		steps = append(steps, step{"Removing what was delivered", "remove", c.runRemoval, false})
	}
	return steps
}

func (c *cellRun) run(ctx context.Context) (err error) {
	if err := c.open(); err != nil {
		return err
	}
	if !c.startedAhead {
		c.noteStart()
	}
	whole := ctx
	ctx, release := c.Deadline.Bind(ctx)
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		c.locate(err)
		c.closing = c.close(whole, err)
		err = c.verdictAfter(err, c.closing)
	}()
	defer func() {
		if v := recover(); v != nil {
			err = reason.New(reason.Internal, "panic in cell %s: %v\n%s", c.plan.Cell, v, debug.Stack())
		}
	}()
	if err := c.describeCluster(); err != nil {
		return err
	}
	go c.watchProcesses(ctx, cancel)
	for _, s := range c.steps() {
		if !s.ahead {
			if err := c.awaitTurn(ctx); err != nil {
				return err
			}
		}
		if err := c.doStep(ctx, s); err != nil {
			return infra.StepError(ctx, s.name, err)
		}
	}
	return infra.StepError(ctx, "Reading the policies again", c.lane.Unchanged(ctx)) // what ran since the gate may have changed them
}

func (c *cellRun) doStep(ctx context.Context, s step) error {
	start := time.Now()
	c.turn.begin(func() infra.Task {
		c.emit(Event{Kind: StepBegin, Cell: c.plan.Cell, Step: s.phase, Title: s.name})
		return c.progress.Begin(c.plan.Cell.String() + "  " + s.name)
	})
	err := c.marked(s.do(ctx))
	end := time.Now()
	task, ahead := c.turn.end(start, end)
	took := end.Sub(start) - ahead
	c.result.Phases = append(c.result.Phases, result.Phase{Name: s.phase, Duration: took, Ahead: ahead})
	if task != nil {
		task.End("", err)
		c.emit(Event{Kind: StepEnd, Cell: c.plan.Cell, Step: s.phase, Title: s.name, Duration: took, Err: err})
	}
	c.env.Log.Info(s.name, "phase", s.phase, "took", took.Round(time.Millisecond), "ahead", ahead.Round(time.Millisecond), "err", err)
	return err
}

// open creates the cell's directory and log.
func (c *cellRun) open() error {
	c.dir = filepath.Join(c.Dir, c.plan.Cell.FileName())
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.Internal), fmt.Errorf("make the cell's directory: %w", err))
	}
	file, err := os.Create(c.harnessLog())
	if err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.Internal), fmt.Errorf("make the cell's log: %w", err))
	}
	var out io.Writer = file
	if c.Log != nil {
		out = io.MultiWriter(file, c.Log)
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})).With("cell", c.plan.Cell.String())
	c.log = file
	c.env = &lane.Env{Cell: c.plan.Cell, Furnished: len(c.existing) > 0, Dir: c.dir, Log: log, Health: c.health, Tell: c.turn.tell}
	return nil
}

// describeCluster creates the cluster's description and reserves the address of its registry. It
// starts nothing.
func (c *cellRun) describeCluster() error {
	// The name has a number instead of the recipe's name: it is part of the path of a socket, which
	// has room for about 100 bytes.
	name := fmt.Sprintf("%s-%s-%d", c.ClusterPrefix, c.RunID, c.plan.number)
	cluster, err := c.platform.Cluster(infra.Spec{
		Name: name, Purpose: c.plan.Cell.String(), Dir: c.dir, Log: c.env.Log,
		Nodes: simulate.Nodes(c.plan.nodes), Groups: simulate.Growing(c.plan.nodes), Controllers: c.lane.Controllers(), Egress: c.plan.egress,
	})
	if err != nil {
		return err
	}
	c.env.Cluster, c.env.Registry = cluster, cluster.Registry()
	return nil
}

func (c *cellRun) harnessLog() string { return filepath.Join(c.dir, "harness.log") }
