package matrix

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// upgradeRunner upgrades shipped recipes from themselves.
func upgradeRunner(t *testing.T) *Runner {
	t.Helper()
	r, _, _ := renderingRunner(t)
	r.From = &From{Name: "old", Title: "old (1a2b3c4d5e6f)", Inputs: r.Inputs}
	return r
}

// An upgrade that is not run has the difference of the renderings, which says that it is that, and
// the charts of both sides: one whose deployer cannot be upgraded here, and one after --fail-fast.
func TestUpgradeNotRun(t *testing.T) {
	r := upgradeRunner(t)
	numbers := map[int]bool{} // cluster names have them, so that no two cells share one
	for deployer, want := range map[string]struct {
		first result.Verdict
		ends  result.Status
		cause string
	}{
		bundle.ArgoCDAppSet: {result.Verdict{Status: result.Passed}, result.Skipped, "no upgrade runs through argocd-appset"},
		bundle.Helm:         {result.Verdict{Status: result.Failed, Reason: reason.DeployFailed}, result.NotRun, "--fail-fast"},
	} {
		plans := plansOf(t, r, "eks-training", deployers(t, deployer)...)
		for _, p := range plans {
			if numbers[p.number] {
				t.Errorf("%s has the number of another cell", p.Cell)
			}
			numbers[p.number] = true
		}
		r.FailFast = true
		results, err := r.runAll(t.Context(), plans, 1, func(_ context.Context, p Plan) finishedCell {
			return finishedCell{Result: r.NotRun(p.Cell, want.first)}
		})
		if err != nil || len(results) != 2 {
			t.Fatalf("got %d results, %v", len(results), err)
		}
		res := results[1]
		if res.Status != want.ends || res.From != "old" || !strings.Contains(res.Cause, want.cause) {
			t.Errorf("%s: got %s: %s", res.Cell, res.Status, res.Cause)
		}
		wantForeseen(t, res)
	}
}

// A cell that ends before its upgrade did, e.g. since what ran before is red, has that too.
func TestUpgradeForeseen(t *testing.T) {
	r := upgradeRunner(t)
	plans := plansOf(t, r, "eks-training", deployers(t, bundle.Helm)...)
	c := r.newCell(plans[1], NewLane(plans[1].Deployer))
	for _, do := range []func() error{c.open, c.describeCluster, func() error { return c.makeBundle(t.Context()) }} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	c.foresee()
	wantForeseen(t, c.result)
	if err := c.log.Close(); err != nil {
		t.Error(err)
	}
}

func wantForeseen(t *testing.T, res result.Result) {
	t.Helper()
	if res.Change == nil || !res.Change.Rendered || res.Change.From != "old (1a2b3c4d5e6f)" || !res.Change.Empty() || res.Change.Objects == 0 {
		t.Errorf("%s: got the change %+v, want one of renderings without a difference", res.Cell, res.Change)
	}
	if len(res.Rendered) == 0 || !slices.Equal(res.Rendered, res.RenderedBefore) {
		t.Fatalf("%s: got the charts %v and before %v", res.Cell, res.Rendered, res.RenderedBefore)
	}
	for _, c := range res.Rendered {
		if len(c.Digest) != len("sha256:")+64 || c.Component == "" || c.Version == "" {
			t.Errorf("%s: chart %+v is not complete", res.Cell, c)
		}
	}
}

// What an earlier run kept is upgraded only with the charts of that run.
func TestOtherCharts(t *testing.T) {
	chart := func(digest, from string) []result.Chart {
		return []result.Chart{{Component: "a", Release: "a", Name: "a", Version: "1", Digest: digest, From: from}}
	}
	b := &base{recorded: chart("sha256:1", "upstream")}
	for _, same := range [][]result.Chart{chart("sha256:1", "dir"), nil, chart("sha256:2", "")} {
		if err := b.otherCharts(same); err != nil {
			t.Errorf("%v: %v", same, err)
		}
	}
	err := b.otherCharts(chart("sha256:2", "simulated"))
	if err == nil {
		t.Fatal("other files of a chart were taken for those of the kept run")
	}
	testkit.WantText(t, "error", err.Error(), "chart a 1 of a has other files", "from upstream (sha256:1) and now from simulated (sha256:2)", "pass the --charts of that run")
}

// Of two bundles for Argo CD one of which is split, both roots would write each Application: it is refused, on either side,
// before a cluster exists.
func TestSameRoots(t *testing.T) {
	whole, split := bundle.Input{}, bundle.Input{Split: map[string]string{"a": "ops"}}
	for _, c := range []struct {
		deployer  string
		old, next bundle.Input
		want      string
	}{
		{bundle.ArgoCDOCI, whole, whole, ""}, {bundle.ArgoCDGit, split, split, ""}, {bundle.Helm, split, whole, ""},
		{bundle.ArgoCDOCI, whole, split, "--from old: it has one root Application for all components, and what is delivered has a root Application for each of the classes core and ops"},
		{bundle.ArgoCDGit, split, whole, "--from old: it has a root Application for each of the classes core and ops, and what is delivered has one root Application for all components"},
	} {
		err := sameRoots("old", c.deployer, c.old, c.next)
		if c.want == "" && err != nil || c.want != "" && (reason.Of(err) != reason.Usage || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s, %v to %v: got %v", c.deployer, c.old.Split, c.next.Split, err)
		}
	}
}
