package matrix

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// passed is a cell that passed with one Deployment of so many replicas.
func passed(t *testing.T, recipe, deployer string, replicas int64) finishedCell {
	t.Helper()
	live := compare.New()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web}}`), &o.Object); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(o.Object, replicas, "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if err := live.Add(o, "r", false); err != nil {
		t.Fatal(err)
	}
	return finishedCell{Result: result.Result{Cell: result.Cell{Recipe: recipe, Deployer: deployer}, Verdict: result.Verdict{Status: result.Passed}, Rerun: "own"}, captured: live}
}

// runEnded runs cells that end like this.
func runEnded(t *testing.T, cells []finishedCell) []result.Result {
	t.Helper()
	var plans []Plan
	for _, c := range cells {
		plans = append(plans, Plan{Cell: c.Cell})
	}
	results, err := testRunner().runAll(t.Context(), plans, 1, func(_ context.Context, p Plan) finishedCell {
		return cells[slices.IndexFunc(cells, func(c finishedCell) bool { return c.Cell == p.Cell })]
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// After each cell everybody who listens gets the whole list, in which what has not ended is never a
// pass.
func TestLedger(t *testing.T) {
	var lists [][]result.Result
	var ends []string
	r := &Runner{
		Platform: &embedded.Platform{Stack: &stack.Stack{}},
		Inputs:   Inputs{Charts: catalog.FromFS(fstest.MapFS{}, "none")},
		Rerun:    func(c result.Cell) string { return c.String() },
		Hooks: Hooks{
			OnResult: func(all []result.Result) { lists = append(lists, all) },
			OnEvent:  func(e Event) { ends = append(ends, string(e.Kind)+" "+e.Cell.String()) },
		},
	}
	plans := []Plan{{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}}, {Cell: result.Cell{Recipe: "eks", Deployer: "flux-oci"}}}
	book := newLedger(r, plans)
	book.enter(t.Context(), 1, finishedCell{Result: result.Result{Cell: plans[1].Cell, Verdict: result.Verdict{Status: result.Passed}}})
	book.enter(t.Context(), 0, finishedCell{Result: result.Result{Cell: plans[0].Cell, Verdict: result.Verdict{Status: result.Failed}}})
	if len(lists) != 2 {
		t.Fatalf("got %d lists, want one per cell", len(lists))
	}
	if first := lists[0]; first[0].Status != result.NotRun || first[0].Rerun != "eks/helm" || first[1].Status != result.Passed {
		t.Errorf("after the first cell: got %+v, want the other one as not run", first)
	}
	if last := lists[1]; last[0].Status != result.Failed || last[1].Status != result.Passed {
		t.Errorf("after the last cell: got %+v", last)
	}
	testkit.WantEach(t, "events", ends, []string{"cell-end eks/flux-oci", "cell-end eks/helm"})
}

// The lanes of a recipe are compared when the last of them has ended, and not when the run has;
// what was captured is dropped then.
func TestComparisonPerRecipe(t *testing.T) {
	var lists [][]result.Result
	r := testRunner()
	r.OnResult = func(all []result.Result) { lists = append(lists, all) }
	plans := []Plan{{Cell: result.Cell{Recipe: "a", Deployer: "helm"}}, {Cell: result.Cell{Recipe: "a", Deployer: "flux-oci"}}, {Cell: result.Cell{Recipe: "b", Deployer: "helm"}}}
	book := newLedger(r, plans)
	book.enter(t.Context(), 0, passed(t, "a", "helm", 1))
	if got := book.results[0].ComparedWith + book.results[1].ComparedWith; got != "" || len(book.live) != 1 {
		t.Errorf("after one lane of two: compared with %q, %d captured", got, len(book.live))
	}
	book.enter(t.Context(), 1, passed(t, "a", "flux-oci", 2))
	last := lists[len(lists)-1]
	if last[1].Reason != reason.LaneDivergence || last[2].Status != result.NotRun {
		t.Errorf("with a cell of another recipe to come: got %s and %s", last[1].Reason, last[2].Status)
	}
	if len(book.live) != 0 {
		t.Errorf("%d captured cells are kept", len(book.live))
	}
}

// The debug artifacts of a cell that failed in comparison show that, and are in the directory for
// failed cells.
func TestRestate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), logsPrefix+"a-flux-oci-1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cell.json"), []byte(`{"status":"passed","observed":{"x":1}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "summary.md"), []byte("# passed by itself\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := passed(t, "a", "flux-oci", 2)
	r.Artifacts = dir
	results := runEnded(t, []finishedCell{passed(t, "a", "helm", 1), r})
	if got := filepath.Base(results[1].Artifacts); got != debugPrefix+"a-flux-oci-1" {
		t.Errorf("artifacts are in %s", got)
	}
	raw, err := os.ReadFile(filepath.Join(results[1].Artifacts, "cell.json"))
	if err != nil {
		t.Fatal(err)
	}
	testkit.WantText(t, "cell.json", string(raw), `"status": "failed"`, `"reason": "LANE_DIVERGENCE"`, `"observed": {`, `"comparedWith": "helm"`, debugPrefix)
	page, err := os.ReadFile(filepath.Join(results[1].Artifacts, "summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(page), "# a/flux-oci failed: LANE_DIVERGENCE") {
		t.Errorf("the page that is read first does not begin with the failure:\n%s", page)
	}
	testkit.WantText(t, "summary.md", string(page), "spec.replicas  helm: 1; flux-oci: 2", "again a/helm,flux-oci", "# passed by itself")
	if len(results[1].Details) != 1 {
		t.Errorf("details: %q", results[1].Details)
	}
	r = passed(t, "a", "flux-oci", 2)
	r.Artifacts = filepath.Join(t.TempDir(), logsPrefix+"gone")
	results = runEnded(t, []finishedCell{passed(t, "a", "helm", 1), r})
	testkit.WantText(t, "details", strings.Join(results[1].Details, "\n"), "still say that the cell passed", "spec.replicas")
}
