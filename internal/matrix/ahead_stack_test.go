package matrix

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// aheadRunner has the small recipes, and room for a cell and one that is started ahead. At the end
// of the test no process or directory of it may be left.
func aheadRunner(t *testing.T) *Runner {
	t.Helper()
	r := stackRunner(t)
	smallRecipes(t, r)
	infratest.Slots(t, 2)
	r.Ahead = 1
	return r
}

func wantNothingOf(t *testing.T, r *Runner) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(embeddedOf(r).Paths.Clusters(), "test-"+r.RunID+"-*")); len(left) > 0 {
		t.Errorf("clusters are left: %q", left)
	}
	if left := commandLines(r.ClusterPrefix+"-"+r.RunID, r.Dir); len(left) > 0 {
		t.Errorf("processes are left:\n%s", strings.Join(left, "\n"))
	}
	if left, _ := filepath.Glob(filepath.Join(r.Dir, "*-oci")); len(left) > 0 {
		t.Errorf("directories are left: %q", left)
	}
}

// begunAhead begins a cell of the small recipe, and returns once its cluster is ready and waits.
func begunAhead(t *testing.T, r *Runner, deployer string) *aheadCell {
	t.Helper()
	a := r.startAhead(t.Context(), plansOf(t, r, "plain", deployers(t, deployer)...)[0]).(*aheadCell)
	t.Cleanup(func() { _ = a.drop() })
	waitAhead(t, a)
	return a
}

// waitAhead returns once the cell's cluster is ready and waits.
func waitAhead(t *testing.T, a *aheadCell) {
	t.Helper()
	testkit.Eventually(t, "the cluster that is started ahead", 5*time.Minute, func() wait.Result {
		a.cell.turn.mu.Lock()
		defer a.cell.turn.mu.Unlock()
		if a.cell.turn.ahead != nil {
			return wait.NotYet("it is being started")
		}
		return wait.Done()
	})
	select {
	case <-a.done:
		t.Fatalf("it could not be started: %v", a.err)
	default:
	}
}

// The second cell's cluster is started ahead: the cell passes like any other, its time excludes the
// start ahead, and the lanes are compared.
func TestAhead_CellRuns(t *testing.T) {
	t.Parallel()
	r := aheadRunner(t)
	steps := map[result.Cell][]string{} // one cell at a time reports its steps
	r.OnEvent = func(e Event) {
		if e.Kind == StepBegin {
			steps[e.Cell] = append(steps[e.Cell], e.Step)
		}
	}
	plans := plansOf(t, r, "plain", deployers(t, bundle.Helm, bundle.FluxOCI)...)
	next := make(chan *aheadCell, 1)
	results, err := r.runAhead(t.Context(), plans, 1, func(ctx context.Context, p Plan) finishedCell {
		e := r.runCell(ctx, p)
		waitAhead(t, <-next) // a recipe so small has passed before
		return e
	}, func(ctx context.Context, p Plan) startedCell {
		a := r.startAhead(ctx, p).(*aheadCell)
		next <- a
		return a
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range results {
		if res.Status != result.Passed {
			t.Fatalf("%s: got %s, %s: %s", res.Cell, res.Status, res.Reason, res.Cause)
		}
		var ahead, own time.Duration
		for _, p := range res.Phases {
			ahead, own = ahead+p.Ahead, own+p.Duration
			if before := i == 1 && slices.Contains([]string{"bundle", "cluster", "controllers", "push"}, p.Name); before != (p.Ahead > 0) || before && p.Duration > 0 {
				t.Errorf("%s: step %s took %s ahead and %s", res.Cell, p.Name, p.Ahead, p.Duration)
			}
		}
		t.Logf("%s: ready after %s, %s of its own, %s ahead", res.Cell, res.ReadyAfter, own, ahead)
		if i == 1 && res.ReadyAfter > time.Second {
			t.Errorf("%s: ready after %s, want at most 1 s", res.Cell, res.ReadyAfter)
		}
		if own > res.Duration || res.Cost() != res.Duration+ahead {
			t.Errorf("%s: took %s, its steps %s, cost %s", res.Cell, res.Duration, own, res.Cost())
		}
		if _, err := os.Stat(res.Artifacts); err != nil {
			t.Errorf("%s: %v", res.Cell, err)
		}
	}
	first, second := results[0], results[1]
	if end := first.Started.Add(first.Duration); second.Started.Before(end.Add(-100 * time.Millisecond)) {
		t.Errorf("the second cell's time began at %s, before the first one's end at %s", second.Started, end)
	}
	if second.ComparedWith != bundle.Helm {
		t.Errorf("compared with %q", second.ComparedWith)
	}
	if got, want := steps[second.Cell], []string{"deploy", "sync", "verify", "read-back"}; !slices.Equal(got, want) {
		t.Errorf("its steps were shown as %q, want %q", got, want)
	}
	wantNothingOf(t, r)
}

// A cluster that is not needed goes without a trace, at whatever point it is.
func TestAhead_Dropped(t *testing.T) {
	t.Parallel()
	r := aheadRunner(t)
	r.Keep = true // what has not run is not kept
	r.OnEvent = func(e Event) { t.Errorf("an event: %+v", e) }
	a := begunAhead(t, r, bundle.Helm)
	if len(commandLines(r.ClusterPrefix+"-"+r.RunID, r.Dir)) == 0 {
		t.Fatal("no process is there to be removed")
	}
	if err := a.drop(); err != nil {
		t.Error(err)
	}
	wantNothingOf(t, r)
	b := r.startAhead(t.Context(), plansOf(t, r, "plain", deployers(t, bundle.FluxOCI)...)[0])
	testkit.Eventually(t, "its first process", 5*time.Minute, func() wait.Result {
		if len(commandLines(r.ClusterPrefix+"-"+r.RunID)) == 0 {
			return wait.NotYet("there is none")
		}
		return wait.Done()
	})
	if err := b.drop(); err != nil {
		t.Error(err)
	}
	wantNothingOf(t, r)
	if _, err := os.Stat(r.Artifacts); err == nil {
		t.Error("it left artifacts")
	}
}

// TestAhead_ProcessDies: a process that ends, or stops to answer, while its cluster waits
// is noticed. The cell is started from scratch, and its verdict is its own.
func TestAhead_ProcessDies(t *testing.T) {
	t.Parallel()
	brokenAhead(t, "kube-apiserver", syscall.SIGSTOP, "ask its API server whether it is ready")
}

// waitStopped returns once each thread of a process is stopped. The kernel stops threads one by one
// after kill(2) has returned: until then the process may still answer a request.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	testkit.Eventually(t, "process "+strconv.Itoa(pid)+" to be stopped", time.Minute, func() wait.Result {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			if err != nil {
				continue // the thread has ended
			}
			// The state follows the name, which is in parentheses: proc_pid_stat(5).
			if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
				return wait.NotYet("%s", stat)
			}
		}
		return wait.Done()
	})
}

// brokenAhead sends a signal to a process of a cluster that waits for its cell. The cell passes,
// and its note says what happened.
func brokenAhead(t *testing.T, process string, signal syscall.Signal, said string) {
	t.Helper()
	r := aheadRunner(t)
	deployer := bundle.Helm
	if process == "helm-controller" {
		deployer = bundle.FluxOCI
	}
	a := begunAhead(t, r, deployer)
	if err := send(a.cell.env, process, signal); err != nil {
		t.Fatal(err)
	}
	if signal == syscall.SIGSTOP { // the turn comes at the same moment
		waitStopped(t, pidOf(a.cell.env, process))
	} else {
		<-a.done
	}
	got := a.take(t.Context())
	if got.Status != result.Passed {
		t.Fatalf("got %s, %s: %s", got.Status, got.Reason, got.Cause)
	}
	if !slices.ContainsFunc(got.Notes, func(n string) bool {
		return strings.HasPrefix(n, "started from scratch") && strings.Contains(strings.ReplaceAll(n, "kube-apiserver", "API server"), said)
	}) {
		t.Errorf("notes are %q, want %q", got.Notes, said)
	}
	if got.Cost() != got.Duration || got.ReadyAfter < time.Second {
		t.Errorf("took %s, cost %s, ready after %s: want those of a cell that was not started ahead", got.Duration, got.Cost(), got.ReadyAfter)
	}
	wantNothingOf(t, r)
}
