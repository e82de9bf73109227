package matrix

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Recipes keep the order in which they were asked for; the cells of one are started so that lanes
// of one kind do not run side by side.
func TestStartOrder(t *testing.T) {
	var plans []Plan
	for _, recipe := range []string{"z", "a"} {
		for _, d := range deployers(t, "all") {
			plans = append(plans, Plan{Cell: result.Cell{Recipe: recipe, Deployer: d.Name()}})
		}
	}
	var got []string
	for _, i := range (&Runner{}).startOrder(plans, 2) {
		got = append(got, plans[i].Cell.String())
	}
	want := []string{
		"z/argocd-oci", "z/flux-oci", "z/argocd-helm-oci", "z/helm", "a/argocd-oci", "a/flux-oci", "a/argocd-helm-oci", "a/helm",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Three consecutive sync timeouts of one deployer end the run; a pass resets its count; nothing
// else counts or resets (faults F11 to F14).
func TestStrikes(t *testing.T) {
	pass, timeout := result.Verdict{Status: result.Passed}, result.Verdict{Status: result.Timeout, Reason: reason.SyncTimeout}
	refused, died := result.Verdict{Status: result.Failed, Reason: reason.DeployFailed}, result.Verdict{Status: result.Infrastructure, Reason: reason.ComponentDied}
	late := result.Verdict{Status: result.Timeout, Reason: reason.JobDeadline}
	tests := map[string]struct {
		limit int
		ends  map[string][]result.Verdict // by deployer, in the order of recipes
		ran   int                         // cells that were run
	}{
		"three in a row":                {3, map[string][]result.Verdict{"flux-oci": {timeout, timeout, timeout, pass, pass}}, 3},
		"a pass between resets":         {3, map[string][]result.Verdict{"flux-oci": {timeout, timeout, pass, timeout, timeout}}, 5},
		"then three in a row after all": {3, map[string][]result.Verdict{"flux-oci": {timeout, pass, timeout, timeout, timeout, pass}}, 5},
		"other failures do not count":   {3, map[string][]result.Verdict{"flux-oci": {refused, died, late, refused, timeout, timeout}}, 6},
		"other failures do not reset":   {3, map[string][]result.Verdict{"flux-oci": {timeout, refused, timeout, died, timeout, pass}}, 5},
		"another deployer's passes say nothing": {3, map[string][]result.Verdict{
			"helm": {pass, pass, pass, pass}, "flux-oci": {timeout, timeout, timeout, timeout}}, 6},
		"a limit of one": {1, map[string][]result.Verdict{"flux-oci": {timeout, pass}}, 1},
		"no limit":       {0, map[string][]result.Verdict{"flux-oci": {timeout, timeout, timeout, timeout}}, 4},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var plans []Plan
			ends := map[result.Cell]result.Verdict{}
			for i := range 6 {
				for _, row := range laneTable() {
					if i < len(tc.ends[row.Name]) {
						c := result.Cell{Recipe: string(rune('a' + i)), Deployer: row.Name}
						plans = append(plans, Plan{Cell: c})
						ends[c] = tc.ends[row.Name][i]
					}
				}
			}
			r := testRunner()
			r.MaxStrikes = tc.limit
			ran := 0
			results, err := r.runAll(t.Context(), plans, 1, func(_ context.Context, p Plan) finishedCell {
				ran++
				return finishedCell{Result: result.Result{Cell: p.Cell, Verdict: ends[p.Cell]}}
			})
			if ran != tc.ran {
				t.Errorf("ran %d cells, want %d", ran, tc.ran)
			}
			if (err != nil) != (tc.ran < len(plans)) || err != nil && reason.Of(err) != reason.SyncTimeout {
				t.Errorf("got error %v with %d of %d cells run", err, ran, len(plans))
			}
			if err != nil && !strings.Contains(err.Error(), "flux-oci") {
				t.Errorf("got %q, want the deployer named", err)
			}
			unrun := 0
			for _, res := range results {
				if res.Status == result.NotRun {
					unrun++
				}
			}
			if unrun != len(plans)-tc.ran {
				t.Errorf("%d cells are listed as not run, want %d", unrun, len(plans)-tc.ran)
			}
		})
	}
}

// Cells without enough time are listed as such: they neither start nor fail.
func TestRunAll_NoTimeLeft(t *testing.T) {
	r := testRunner()
	r.Deadline = gate.Deadline{At: time.Now().Add(gate.LeastSyncTime - time.Second)}
	results, err := r.runAll(t.Context(), []Plan{{Cell: result.Cell{Recipe: "a", Deployer: "helm"}}}, 1, func(context.Context, Plan) finishedCell {
		t.Error("the cell was begun")
		return finishedCell{}
	})
	if err != nil || results[0].Status != result.NotRun || results[0].Reason != reason.JobDeadline {
		t.Errorf("got %+v, %v; want not run for %s", results, err, reason.JobDeadline)
	}
}

// A cell starts as soon as its own controllers are there, while those of other lanes are compiled.
// Controllers that cannot be had fail the cells of their lanes, and no other.
func TestRunAll_WhileBuilding(t *testing.T) {
	var plans []Plan
	for _, d := range deployers(t, "argocd-oci", "argocd-helm-oci", "flux-oci", "helm") {
		plans = append(plans, Plan{Cell: result.Cell{Recipe: "a", Deployer: d.Name()}, Deployer: d})
	}
	ran := make(chan string, len(plans))
	helm := make(chan struct{})
	r := testRunner()
	sets := r.ControllerSets(plans, 2)
	if len(sets) != 3 || !slices.Equal(sets[0], schedule.BuildingSet{infra.ArgoCDControllers}) {
		t.Fatalf("the sets are %q", sets)
	}
	r.Building = schedule.StartBuilding(t.Context(), func(ctx context.Context, kinds ...infra.ControllerKind) error {
		switch {
		case slices.Contains(kinds, infra.FluxControllers):
			return &reason.Error{Reason: reason.StackBuildFailed, Err: errors.New("build helm-controller: exit status 1")}
		case len(kinds) > 0:
			<-helm // Argo CD is still compiled when helm's cell has ended
		}
		return nil
	}, func(context.Context) {}, sets)
	defer r.Building.Stop()
	results, err := r.runAll(t.Context(), plans, 2, func(_ context.Context, p Plan) finishedCell {
		ran <- p.Cell.Deployer
		if p.Cell.Deployer == "helm" {
			close(helm)
		}
		return finishedCell{Result: result.Result{Cell: p.Cell, Verdict: result.Verdict{Status: result.Passed}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if first := <-ran; first != "helm" || len(ran) != 2 {
		t.Errorf("%s ran first, and %d after it", first, len(ran))
	}
	for _, res := range results {
		switch {
		case res.Cell.Deployer != "flux-oci" && res.Status != result.Passed:
			t.Errorf("%s: %+v", res.Cell, res.Verdict)
		case res.Cell.Deployer == "flux-oci" && (res.Status != result.Infrastructure || res.Reason != reason.StackBuildFailed || !strings.Contains(res.Cause, "helm-controller") || res.Started.IsZero()):
			t.Errorf("%s: %+v, started %s", res.Cell, res.Verdict, res.Started)
		}
	}
}

// A run that is over does not wait for a build.
func TestRunAll_OverWhileBuilding(t *testing.T) {
	var plans []Plan
	for _, d := range deployers(t, "helm", "flux-oci") {
		plans = append(plans, Plan{Cell: result.Cell{Recipe: "a", Deployer: d.Name()}, Deployer: d})
	}
	r := testRunner()
	r.FailFast = true
	r.Building = schedule.StartBuilding(t.Context(), func(ctx context.Context, kinds ...infra.ControllerKind) error {
		if len(kinds) > 0 {
			<-ctx.Done()
		}
		return ctx.Err()
	}, func(context.Context) {}, r.ControllerSets(plans, 2))
	defer r.Building.Stop()
	results, err := r.runAll(t.Context(), plans, 2, func(_ context.Context, p Plan) finishedCell {
		return finishedCell{Result: result.Result{Cell: p.Cell, Verdict: result.Verdict{Status: result.Failed, Reason: reason.DeployFailed}}}
	})
	if err != nil || results[0].Status != result.Failed || results[1].Status != result.NotRun || results[1].Reason != reason.DeployFailed {
		t.Errorf("got %+v, %v", results, err)
	}
}

func testRunner() *Runner {
	return &Runner{Platform: &embedded.Platform{Stack: &stack.Stack{}}, Inputs: Inputs{Charts: catalog.FromFS(nil, "simulated")}, Rerun: func(c result.Cell) string { return "again " + c.String() }}
}

// runAll is RunAll with a function in place of cells, and none started ahead.
func (r *Runner) runAll(ctx context.Context, plans []Plan, n int, run func(context.Context, Plan) finishedCell) ([]result.Result, error) {
	return r.runAhead(ctx, plans, n, run, nil)
}
