package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// fakeRun runs cells that take 10 s each, of which a start takes 4 s, and records how they ended.
type fakeRun struct {
	mu    sync.Mutex
	log   []string
	ends  map[string]result.Verdict // by recipe; passed if it has none
	begun int                       // ahead, and neither taken nor dropped
	free  uint64
	left  error // what drop says
}

const (
	fakeStart = 4 * time.Second
	fakeCell  = 10 * time.Second
)

func (f *fakeRun) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

func (f *fakeRun) course(p Plan, ahead bool) finishedCell {
	if !ahead {
		time.Sleep(fakeStart)
	}
	p.ready()
	f.note("%s runs, ahead %t", p.Cell.Recipe, ahead)
	time.Sleep(fakeCell - fakeStart)
	v, ok := f.ends[p.Cell.Recipe]
	if !ok {
		v.Status = result.Passed
	}
	return finishedCell{Result: result.Result{Cell: p.Cell, Verdict: v}}
}

func (f *fakeRun) run(_ context.Context, p Plan) finishedCell { return f.course(p, false) }

// fakeBegun is a cell of a fakeRun that was started ahead.
type fakeBegun struct {
	f    *fakeRun
	plan Plan
	gone bool // taken or dropped
}

func (f *fakeRun) begin(_ context.Context, p Plan) startedCell {
	f.note("%s begins", p.Cell.Recipe)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun++
	return &fakeBegun{f: f, plan: p}
}

// leave reports whether the cell was still there.
func (b *fakeBegun) leave() bool {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	if b.gone {
		return false
	}
	b.gone = true
	b.f.begun--
	return true
}

func (b *fakeBegun) take(context.Context) finishedCell { return b.f.course(b.plan, b.leave()) }

func (b *fakeBegun) drop() error {
	if b.leave() {
		b.f.note("%s dropped", b.plan.Cell.Recipe)
	}
	return b.f.left
}

func namedPlans(recipes ...string) []Plan {
	var plans []Plan
	for _, r := range recipes {
		plans = append(plans, Plan{Cell: result.Cell{Recipe: r, Deployer: "helm"}})
	}
	return plans
}

// The next cells are started ahead once the running one is ready to deploy, at most as many as
// --ahead says, and are taken in order.
func TestPool_StartsNextCells(t *testing.T) {
	for ahead, want := range map[int]struct {
		log  string
		took time.Duration
	}{
		0: {"a runs, ahead false; b runs, ahead false; c runs, ahead false", 3 * fakeCell},
		1: {"b begins; a runs, ahead false; c begins; b runs, ahead true; c runs, ahead true", 3*fakeCell - 2*fakeStart},
		9: {"b begins; c begins; a runs, ahead false; b runs, ahead true; c runs, ahead true", 3*fakeCell - 2*fakeStart},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeRun{}
			r := testRunner()
			r.Ahead = ahead
			start := time.Now()
			results, err := r.runAhead(t.Context(), namedPlans("a", "b", "c"), 1, f.run, f.begin)
			if took := time.Since(start); err != nil || took != want.took || strings.Join(f.log, "; ") != want.log {
				t.Errorf("ahead %d: after %s, %v:\n%s\nwant after %s\n%s", ahead, took, err, strings.Join(f.log, "; "), want.took, want.log)
			}
			for i, res := range results {
				if res.Status != result.Passed || res.Recipe != namedPlans("a", "b", "c")[i].Cell.Recipe {
					t.Errorf("ahead %d: result %d is %+v", ahead, i, res)
				}
			}
		})
	}
}

// A cell that was started ahead and does not run after all is dropped, and is listed as not run,
// like any other.
func TestPool_DropsUnusedCells(t *testing.T) {
	red, timeout := result.Verdict{Status: result.Failed, Reason: reason.DeployFailed}, result.Verdict{Status: result.Timeout, Reason: reason.SyncTimeout}
	for name, tc := range map[string]struct {
		change func(*Runner)
		end    result.Verdict
		signal bool
		want   reason.Reason
	}{
		"fail-fast": {func(r *Runner) { r.FailFast = true }, red, false, reason.DeployFailed},
		"strikes":   {func(r *Runner) { r.MaxStrikes = 1 }, timeout, false, reason.SyncTimeout},
		"deadline":  {func(r *Runner) { r.Deadline = gate.Deadline{At: time.Now().Add(gate.LeastSyncTime + fakeCell/2)} }, result.Verdict{Status: result.Passed}, false, reason.JobDeadline},
		"signal":    {func(*Runner) {}, result.Verdict{Status: result.Interrupted}, true, reason.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeRun{ends: map[string]result.Verdict{"a": tc.end}, left: errors.New("remove the cluster: busy")}
				r := testRunner()
				r.Ahead = 1
				tc.change(r)
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				if tc.signal {
					time.AfterFunc(fakeStart+time.Second, interrupt)
				}
				results, _ := r.runAhead(ctx, namedPlans("a", "b", "c"), 1, f.run, f.begin)
				if want := "b begins; a runs, ahead false; b dropped"; strings.Join(f.log, "; ") != want || f.begun != 0 {
					t.Errorf("got %s, %d left; want %s", strings.Join(f.log, "; "), f.begun, want)
				}
				for i, warned := range map[int]bool{1: true, 2: false} {
					if got := results[i]; got.Status != result.NotRun || got.Reason != tc.want || got.Phases != nil || got.Duration != 0 || (len(got.Warnings) == 1) != warned {
						t.Errorf("cell %d: got %+v, want it not run for %s, and told what is left: %t", i, got, tc.want, warned)
					}
				}
			})
		})
	}
}

// No cell is started ahead without enough memory. When memory becomes short, started ones are
// dropped, and start again in their order.
func TestPool_Memory(t *testing.T) {
	for name, tc := range map[string]struct {
		free  uint64
		later uint64 // when the first cell runs
		log   string
	}{
		"enough":        {2 * schedule.FootprintCell, schedule.FootprintCell, "b begins; a runs, ahead false; b runs, ahead true"},
		"none for it":   {2*schedule.FootprintCell - 1, schedule.FootprintCell, "a runs, ahead false; b runs, ahead false"},
		"short later":   {2 * schedule.FootprintCell, schedule.FootprintCell/2 - 1, "b begins; a runs, ahead false; b dropped; b runs, ahead false"},
		"not yet short": {2 * schedule.FootprintCell, schedule.FootprintCell / 2, "b begins; a runs, ahead false; b runs, ahead true"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeRun{free: tc.free}
				r := testRunner()
				r.Ahead = 1
				r.Memory = func() (uint64, error) {
					f.mu.Lock()
					defer f.mu.Unlock()
					return f.free, nil
				}
				time.AfterFunc(fakeStart+time.Second, func() {
					f.mu.Lock()
					defer f.mu.Unlock()
					f.free = tc.later
				})
				_, _ = r.runAhead(t.Context(), namedPlans("a", "b"), 1, f.run, f.begin)
				if got := strings.Join(f.log, "; "); got != tc.log || f.begun != 0 {
					t.Errorf("got %s, %d left; want %s", got, f.begun, tc.log)
				}
			})
		})
	}
}

// A worker whose cell has to wait for memory drops the cells that were started ahead, its own
// first.
func TestPool_WaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeRun{}
		r := testRunner()
		r.Progress, r.Ahead = noProgress{}, 1
		r.Memory = func() (uint64, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.begun > 0 {
				return schedule.FootprintCell - aheadMemory - 1, nil
			}
			return schedule.FootprintCell, nil
		}
		room := &schedule.MemoryRoom{}
		_ = room.Enter(nil, 0)
		early := newPool(r, namedPlans("a", "b"), []int{0, 1}, f.begin)
		own := f.begin(t.Context(), early.plans[0])
		early.ahead[1] = f.begin(t.Context(), early.plans[1])
		if room.Enter(r.Memory, schedule.FootprintCell-aheadMemory) {
			t.Fatal("there was no memory")
		}
		r.awaitMemory(t.Context(), room, own, early)
		if want := []string{"a begins", "b begins", "a dropped", "b dropped"}; !slices.Equal(f.log, want) {
			t.Errorf("got %q, want %q", f.log, want)
		}
		full := func() (uint64, error) { return 0, nil }
		room.Leave()
		if room.Enter(full, 1) {
			t.Error("the cell that waited took no place")
		}
		room.Leave()
		if !room.Enter(full, 1) {
			t.Error("more than two places were taken")
		}
	})
}
