package matrix

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix/daytwo"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/kwok"
)

// seed is one way to put a fault into a cell on the real stack, and what must come of it.
type seed struct {
	name string
	// lanes are those of `make test`, and nightly those of `make test-nightly`.
	lanes, nightly []string

	// recipe, runner and bundle change what the cell is made from; bundle is called with what the
	// deployer has made.
	recipe func(*tinyRecipe)
	// old, if set, makes the cell an upgrade: it changes what runs before.
	old func(*tinyRecipe)
	// first is the reason for which the first installation beside the upgrade fails; "": it passes.
	first  reason.Reason
	runner func(*Runner)
	bundle func(*bundle.Bundle) error
	// published and deployed do something to the running cell, after the lane's own step of that
	// name.
	published, deployed func(context.Context, *lane.Env) error
	// sync is the lane's budget, longer on a slow machine. The default is 2 minutes, which no lane
	// should need. asItIs: not longer on a slow machine, since the seed is about this budget.
	sync   time.Duration
	asItIs bool

	want outcomeWanted
}

// outcomeWanted is the verdict that a fault must end with.
type outcomeWanted struct {
	reason reason.Reason // "": the cell passes
	// cause are parts of the one line that names the cause; screen are parts of that line and of
	// what follows it on the first screen.
	cause, screen []string
	within        time.Duration // of the whole cell; default 3 minutes more than the budget: other cells run on this machine
	check         func(*testing.T, result.Result)
}

// detailsOnFirstScreen are the details of a failure that a report shows (cmd/matrix: mostDetails).
const detailsOnFirstScreen = 14

// TestFaultInjection injects every fault that can be injected into a cell: none may pass, and each
// has the verdict and the cause of its row.
func TestFaultInjection(t *testing.T) {
	t.Parallel()
	injectFaults(t, func(s seed) []string { return s.lanes })
}

// injectFaults runs each seed of the table in these lanes.
func injectFaults(t *testing.T, lanes func(seed) []string) {
	base := stackRunner(t)
	for _, f := range faults() {
		for _, s := range f.seeds {
			for _, lane := range lanes(s) {
				name := f.id + "/" + lane
				if s.name != "" {
					name = f.id + "/" + strings.ReplaceAll(s.name, " ", "-") + "/" + lane
				}
				t.Run(name, func(t *testing.T) {
					if lane == bundle.Helmfile && embeddedOf(base).Helmfile == nil {
						addHelmfile(t, base)
					}
					t.Parallel()
					s.run(t, *base, lane)
				})
			}
		}
	}
}

// addHelmfile gives the runner's platform helmfile, which it compiles unless it is in the cache.
func addHelmfile(t *testing.T, r *Runner) {
	t.Helper()
	p := embeddedOf(r)
	var err error
	if p.Helmfile, err = stack.NewHelmfile(p.Paths, kwok.HelmfileMod, kwok.HelmfileSum); err != nil {
		t.Fatal(err)
	}
	if err := p.Needs(t.Context(), NewLane(deployers(t, bundle.Helmfile)[0]).Controllers()...); err != nil {
		t.Fatal(err)
	}
}

func (s seed) run(t *testing.T, runner Runner, through string) {
	infratest.Slots(t, 1)
	runner.RunID = fmt.Sprintf("%08x", rand.Uint32())
	runner.Dir = t.TempDir()
	runner.Artifacts = filepath.Join(runner.Dir, "artifacts")
	runner.Progress = testProgress{t}
	if s.sync == 0 {
		s.sync = 2 * time.Minute
	} else if !s.asItIs {
		s.sync = stretched(s.sync)
	}
	gitops := lane.GitOpsBudget{Sync: s.sync, RootGrace: 20 * time.Second}
	runner.Budgets = lane.Budgets{GitOps: map[infra.ControllerKind]lane.GitOpsBudget{infra.ArgoCDControllers: gitops, infra.FluxControllers: gitops}, Scheduling: s.sync}
	r := newTinyRecipe()
	if s.recipe != nil {
		s.recipe(r)
	}
	if s.old != nil {
		old := newTinyRecipe()
		s.old(old)
		before := runner
		old.use(t, &before)
		runner.From = &From{Name: "old", Title: "old", Inputs: before.Inputs}
	}
	r.use(t, &runner)
	if s.runner != nil {
		s.runner(&runner)
	}
	deployers, err := bundle.ByName([]string{through})
	if err != nil {
		t.Fatal(err)
	}
	deployer := seededDeployer{deployers[0], s}
	plans, err := runner.Plan("tiny", []bundle.Deployer{deployer})
	if err != nil {
		t.Fatalf("plan the tiny recipe: %v", err)
	}
	var times *births
	if *verdictTimes != "" {
		times = &births{}
	}
	var result result.Result
	if s.old != nil {
		result = upgraded(t, &runner, plans, s.first)
	} else {
		result = runner.runLane(t.Context(), plans[0], seededLane{NewLane(deployer), s, times}).Result
	}
	if s.want.within == 0 {
		s.want.within = s.sync + 3*time.Minute
	}
	s.want.compare(t, result)
	times.note(t, &result)
	if left, _ := filepath.Glob(filepath.Join(embeddedOf(&runner).Paths.Clusters(), "test-"+runner.RunID+"-*")); len(left) > 0 {
		t.Errorf("clusters are left: %q", left)
	}
	if left := commandLines("test-"+runner.RunID, runner.Dir); len(left) > 0 {
		t.Errorf("processes are left:\n%s", strings.Join(left, "\n"))
	}
}

// upgraded runs the first installation and the upgrade, and returns the upgrade's result.
func upgraded(t *testing.T, r *Runner, plans []Plan, first reason.Reason) result.Result {
	t.Helper()
	results, err := r.RunAll(t.Context(), plans, 1)
	if first == "" && err != nil || len(results) != 2+len(r.Sequences) || results[0].From != "" || results[1].From != "old" {
		t.Fatalf("got %d results, %v; want a first installation and its upgrade", len(results), err)
	}
	t.Logf("the first installation: %s %s %s after %.1fs, the upgrade after %.1fs", results[0].Status, results[0].Reason, results[0].Cause, results[0].Duration.Seconds(), results[1].Duration.Seconds())
	if results[0].Reason != first {
		t.Errorf("the first installation: got %s %s: %s", results[0].Status, results[0].Reason, results[0].Cause)
	}
	if len(r.Sequences) > 0 {
		last := results[len(results)-1]
		t.Logf("%s after %.1fs", last.Cell, last.Duration.Seconds())
		return last
	}
	return results[1]
}

// stretched is a budget on a machine that is as slow as this one has been of late. It waits longer
// from the slowness on from which the gate does.
func stretched(d time.Duration) time.Duration {
	if slow := machineSpeed.Slowness(time.Now().Add(-30 * time.Second)); slow >= 6 {
		return time.Duration(float64(d) * slow).Round(time.Second)
	}
	return d
}

func (w outcomeWanted) compare(t *testing.T, r result.Result) {
	t.Helper()
	shown := r.Details[:min(len(r.Details), detailsOnFirstScreen)]
	screen := r.Cause + "\n" + strings.Join(shown, "\n")
	var since []string // the time of each step: a definite error should be reported soon after the delivery
	for _, p := range r.Phases {
		since = append(since, fmt.Sprintf("%s %.1fs", p.Name, p.Duration.Seconds()))
	}
	t.Logf("phases of %s: %s", t.Name(), strings.Join(since, ", "))
	t.Logf("%s after %.1fs: %s %s: %s\nwarnings %q\nnotes %q\nstand-ins %q", r.Cell, r.Duration.Seconds(), r.Status, r.Reason, screen, r.Warnings, r.Notes, r.StandIns)
	if r.Reason != w.reason || r.Status != result.StatusOf(w.reason) {
		t.Errorf("verdict: got %s %s, want %s %s", r.Status, r.Reason, result.StatusOf(w.reason), w.reason)
	}
	testkit.WantText(t, "cause", r.Cause, w.cause...)
	testkit.WantText(t, "first screen", screen, w.screen...)
	if r.Duration > w.within {
		t.Errorf("the cell took %s, want %s at most", r.Duration, w.within)
	}
	if w.reason == "" && r.Pods == 0 {
		t.Error("a green that verified no pod")
	}
	if w.check != nil {
		w.check(t, r)
	}
	checkEvidence(t, r)
}

// checkEvidence: what a cell leaves was collected before anything was deleted (F16).
func checkEvidence(t *testing.T, r result.Result) {
	t.Helper()
	prefix := "kwok-logs-"
	if r.Status != result.Passed {
		prefix = "kwok-debug-"
	}
	if !strings.HasPrefix(filepath.Base(r.Artifacts), prefix) {
		t.Errorf("evidence is in %q, want a directory called %s…", r.Artifacts, prefix)
	}
	want := []string{"cell.json"}
	if len(r.Phases) > 1 {
		want = append(want, "logs/kube-apiserver.log", "logs/harness.log", "bundle/recipe.yaml")
	}
	for _, name := range want {
		if info, err := os.Stat(filepath.Join(r.Artifacts, filepath.FromSlash(name))); err != nil || info.Size() == 0 {
			t.Errorf("evidence %s: %v", name, err)
		}
	}
}

// seededDeployer changes the bundles of a real one.
type seededDeployer struct {
	bundle.Deployer
	seed seed
}

func (d seededDeployer) Bundle(ctx context.Context, in bundle.Input) (*bundle.Bundle, error) {
	b, err := d.Deployer.Bundle(ctx, in)
	if err != nil || d.seed.bundle == nil {
		return b, err
	}
	return b, d.seed.bundle(b)
}

// seededLane does something to the running cell between the steps of a real lane.
type seededLane struct {
	lane.Lane
	seed seed
	// times, if set, gets the times of the cell's objects and its verdict.
	times *births
}

// Artifacts is asked for when the verdict is there.
func (l seededLane) Artifacts() lane.Artifacts {
	l.times.read()
	return l.Lane.Artifacts()
}

func (l seededLane) Publish(ctx context.Context, env *lane.Env) ([]publish.Published, error) {
	pushed, err := l.Lane.Publish(ctx, env)
	if err != nil || l.seed.published == nil {
		return pushed, err
	}
	return pushed, l.seed.published(ctx, env)
}

func (l seededLane) Deploy(ctx context.Context, env *lane.Env) error {
	if l.times != nil {
		l.times.env, l.times.delivered = env, time.Now()
	}
	if err := l.Lane.Deploy(ctx, env); err != nil || l.seed.deployed == nil {
		return err
	}
	return l.seed.deployed(ctx, env)
}

// HealsWithin is the real lane's.
func (l seededLane) HealsWithin() time.Duration {
	if heals, ok := l.Lane.(daytwo.Heals); ok {
		return heals.HealsWithin()
	}
	return 0
}
