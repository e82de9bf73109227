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

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/durations"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func cellPlans(cells ...string) []Plan {
	var plans []Plan
	for _, c := range cells {
		recipe, deployer, _ := strings.Cut(c, "/")
		plans = append(plans, Plan{Cell: result.Cell{Recipe: recipe, Deployer: deployer}})
	}
	return plans
}

func earlier(cell string, s result.Status, took time.Duration) result.Result {
	return result.Result{Cell: cellPlans(cell)[0].Cell, Verdict: result.Verdict{Status: s}, Duration: took}
}

// Cells that failed before run first, then those that the change affects, then those that take
// long. The cells of a recipe stay together.
func TestRecipeOrder(t *testing.T) {
	plans := cellPlans("short/helm", "short/flux-oci", "long/helm", "long/flux-oci", "touched/helm", "red/helm", "red/flux-oci")
	r := &Runner{Schedule: Schedule{First: []string{"touched"}, Durations: durations.New(
		earlier("short/helm", result.Passed, time.Second), earlier("short/flux-oci", result.Passed, time.Second),
		earlier("long/helm", result.Passed, time.Minute), earlier("long/flux-oci", result.Passed, time.Second),
		earlier("red/helm", result.Failed, time.Second), earlier("red/flux-oci", result.Passed, time.Second),
	)}}
	for n, want := range map[int]string{
		1: "red/helm red/flux-oci touched/helm long/helm long/flux-oci short/helm short/flux-oci",
		2: "red/flux-oci red/helm touched/helm long/flux-oci long/helm short/flux-oci short/helm",
	} {
		var got []string
		for _, i := range r.startOrder(plans, n) {
			got = append(got, plans[i].Cell.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d at a time: got %v\nwant %s", n, got, want)
		}
	}
}

// --fail-fast starts no cell after the first failed one, for any reason of the failure, and waits
// for the running ones. A skipped or passed cell does not stop the run.
func TestFailFast(t *testing.T) {
	for _, status := range []result.Status{result.Failed, result.Timeout, result.Infrastructure, result.Passed} {
		r := testRunner()
		r.FailFast = true
		plans := cellPlans("a/helm", "b/helm", "c/helm", "d/helm")
		results, err := r.runAll(t.Context(), plans, 1, func(_ context.Context, p Plan) finishedCell {
			v := result.Verdict{Status: result.Passed}
			if p.Cell.Recipe == "b" {
				v = result.Verdict{Status: status, Reason: reason.DeployFailed}
			}
			return finishedCell{Result: result.Result{Cell: p.Cell, Verdict: v}}
		})
		var got []string
		for _, res := range results {
			got = append(got, string(res.Status))
		}
		rest := string(result.NotRun)
		if status == result.Passed {
			rest = string(result.Passed)
		}
		if want := []string{"passed", string(status), rest, rest}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
		if last := results[3]; status != result.Passed && (last.Reason != reason.DeployFailed || last.Cause != "b/helm was red, and the run ends with the first such cell (--fail-fast)") {
			t.Errorf("got %s: %s", last.Reason, last.Cause)
		}
	}
}

type noProgress struct{}

func (noProgress) Begin(string) infra.Task { return noProgress{} }
func (noProgress) Update(string)           {}
func (noProgress) End(string, error)       {}

// While there is no memory for a second cell, one runs at a time, and none is lost; without a
// reading, or with enough, they run side by side.
func TestMemory_Watched(t *testing.T) {
	for name, c := range map[string]struct {
		memory func() (uint64, error)
		nodes  int
		most   int
	}{
		"too little":                  {func() (uint64, error) { return schedule.FootprintCell - 1, nil }, 6, 1},
		"enough":                      {func() (uint64, error) { return schedule.FootprintCell, nil }, 6, 3},
		"too little for a large cell": {func() (uint64, error) { return schedule.FootprintCell, nil }, 1000, 1},
		"not known":                   {func() (uint64, error) { return 0, errors.New("no /proc") }, 6, 3},
		"nobody to ask":               {nil, 6, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := testRunner()
				r.Memory, r.Progress, r.Nodes = c.memory, noProgress{}, simulate.DefaultNodeGroups(0, c.nodes)
				var mu sync.Mutex
				now, most := 0, 0
				results, _ := r.runAll(t.Context(), cellPlans("a/helm", "b/helm", "c/helm"), 3, func(_ context.Context, p Plan) finishedCell {
					mu.Lock()
					now++
					most = max(most, now)
					mu.Unlock()
					time.Sleep(5 * time.Second) // several looks at the memory
					mu.Lock()
					defer mu.Unlock()
					now--
					return finishedCell{Result: result.Result{Cell: p.Cell, Verdict: result.Verdict{Status: result.Passed}}}
				})
				if most != c.most {
					t.Errorf("%d cells ran side by side, want %d", most, c.most)
				}
				for _, res := range results {
					if res.Status != result.Passed {
						t.Errorf("%s: %s", res.Cell, res.Status)
					}
				}
			})
		})
	}
	if got := fmt.Sprint(schedule.CellsThatFit(0, schedule.FootprintCell), schedule.CellsThatFit(schedule.FootprintCell*5/2, schedule.FootprintCell), schedule.CellsThatFit(1<<40, schedule.FootprintCell) > 100); got != "1 2 true" {
		t.Errorf("cells that fit: got %s", got)
	}
}

// A cell of many nodes, or with controllers of jobs, waits for more memory.
func TestMemoryPerCell(t *testing.T) {
	for name, c := range map[string]struct {
		runner Runner
		want   uint64
	}{
		"the usual nodes":     {Runner{Inputs: Inputs{Nodes: simulate.DefaultNodeGroups(2, 4)}}, schedule.FootprintCell},
		"a hundred":           {Runner{Inputs: Inputs{Nodes: simulate.DefaultNodeGroups(2, 98)}}, schedule.FootprintCell},
		"a thousand":          {Runner{Inputs: Inputs{Nodes: simulate.DefaultNodeGroups(2, 1000)}}, schedule.FootprintCell + 902*schedule.FootprintNode},
		"controllers of jobs": {Runner{Inputs: Inputs{Nodes: simulate.DefaultNodeGroups(2, 4)}, Verification: Verification{JobControllers: []infra.JobController{{}}}}, schedule.FootprintCell + schedule.JobControllers},
	} {
		if got := c.runner.MemoryPerCell(); got != c.want {
			t.Errorf("%s: got %d MiB, want %d MiB", name, got>>20, c.want>>20)
		}
	}
}
