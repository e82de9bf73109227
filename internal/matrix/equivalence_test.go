package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/reason"
)

// taken are live objects as a cell captures them, given as YAML.
func taken(t *testing.T, objs ...string) *captured {
	t.Helper()
	c := &captured{objects: map[string]capturedObject{}}
	for _, text := range objs {
		c.put(t, object(t, text), false)
	}
	return c
}

func (c *captured) put(t *testing.T, o *unstructured.Unstructured, mayBeGone bool) {
	t.Helper()
	normalise(o, nil)
	raw, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	ref := objectRef{o.GroupVersionKind(), o.GetNamespace(), o.GetName(), "r"}
	c.objects[ref.key()] = capturedObject{ref, mayBeGone, raw}
}

func passed(recipe, deployer string, live *captured) ended {
	return ended{Result{Cell: Cell{recipe, deployer}, Verdict: Verdict{Status: Passed}, Rerun: "own"}, live}
}

// compareAll runs cells that end like this.
func compareAll(t *testing.T, cells []ended) []Result {
	t.Helper()
	var plans []Plan
	for _, c := range cells {
		plans = append(plans, Plan{Cell: c.Cell})
	}
	r := testRunner()
	results, err := r.runAll(t.Context(), plans, 1, func(_ context.Context, p Plan) ended {
		return cells[slices.IndexFunc(cells, func(c ended) bool { return c.Cell == p.Cell })]
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func deploymentYAML(replicas int) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web}, spec: {replicas: %d}}`, replicas)
}

func TestCompareLanes(t *testing.T) {
	config := `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: extra}, data: {k: v}}`
	failed := ended{Result: Result{Cell: Cell{"a", "argocd-oci"}, Verdict: Verdict{Status: Failed, Reason: reason.DeployFailed}}}
	for name, tc := range map[string]struct {
		cells []ended
		want  []string // per result: status, what it was compared with, a part of its cause
	}{
		"equal": {
			[]ended{passed("a", "helm", taken(t, deploymentYAML(1))), passed("a", "flux-oci", taken(t, deploymentYAML(1)))},
			[]string{"passed  ", "passed helm "},
		},
		"a value": {
			[]ended{passed("a", "helm", taken(t, deploymentYAML(1))), passed("a", "flux-oci", taken(t, deploymentYAML(2)))},
			[]string{"passed  ", "failed helm Deployment ns/web  spec.replicas  helm: 1; flux-oci: 2"},
		},
		"helm is what others are compared with, wherever it is in the list": {
			[]ended{passed("a", "flux-oci", taken(t, deploymentYAML(2))), passed("a", "helm", taken(t, deploymentYAML(1)))},
			[]string{"failed helm spec.replicas  helm: 1; flux-oci: 2", "passed  "},
		},
		"without helm the first that passed": {
			[]ended{failed, passed("a", "argocd-helm-oci", taken(t, deploymentYAML(1))), passed("a", "flux-oci", taken(t, deploymentYAML(2)))},
			[]string{"failed  ", "passed  ", "failed argocd-helm-oci spec.replicas"},
		},
		"an object too few": {
			[]ended{passed("a", "helm", taken(t, deploymentYAML(1), config)), passed("a", "flux-oci", taken(t, deploymentYAML(1)))},
			[]string{"passed  ", "failed helm ConfigMap ns/extra  helm: there; flux-oci: nothing"},
		},
		"an object too many": {
			[]ended{passed("a", "helm", taken(t, deploymentYAML(1))), passed("a", "flux-oci", taken(t, deploymentYAML(1), config))},
			[]string{"passed  ", "failed helm ConfigMap ns/extra  helm: nothing; flux-oci: there"},
		},
		"one lane claims nothing": {[]ended{passed("a", "flux-oci", taken(t, deploymentYAML(2))), failed}, []string{"passed  ", "failed  "}},
		"recipes are not compared with each other": {
			[]ended{passed("a", "helm", taken(t, deploymentYAML(1))), passed("b", "flux-oci", taken(t, deploymentYAML(2)))},
			[]string{"passed  ", "passed  "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i, r := range compareAll(t, tc.cells) {
				status, rest, _ := strings.Cut(tc.want[i], " ")
				with, cause, _ := strings.Cut(rest, " ")
				if string(r.Status) != status || r.ComparedWith != with || !strings.Contains(r.Cause, cause) {
					t.Errorf("%s: got %s, compared with %q: %s; want %s", r.Cell, r.Status, r.ComparedWith, r.Cause, tc.want[i])
				}
				if r.Status == Failed && r.ComparedWith != "" && (r.Reason != reason.LaneDivergence || r.Rerun != "again a/"+r.ComparedWith+","+r.Deployer) {
					t.Errorf("%s: got %s, rerun %q; want both lanes run again", r.Cell, r.Reason, r.Rerun)
				}
				if r.Status == Passed && r.Rerun != "own" {
					t.Errorf("%s: got rerun %q", r.Cell, r.Rerun)
				}
			}
		})
	}
}

// An object that deletes itself may be gone from one lane; where both have it, it is compared.
func TestEphemeralObjects(t *testing.T) {
	a, b := taken(t, deploymentYAML(1)), taken(t, deploymentYAML(1))
	hook := `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: hook}, spec: {completions: %d}}`
	a.put(t, object(t, fmt.Sprintf(hook, 1)), true)
	results := compareAll(t, []ended{passed("a", "helm", a), passed("a", "flux-oci", b)})
	if results[1].Status != Passed {
		t.Errorf("a hook that is gone: got %s: %s", results[1].Status, results[1].Cause)
	}
	b.put(t, object(t, fmt.Sprintf(hook, 2)), true)
	results = compareAll(t, []ended{passed("a", "helm", a), passed("a", "flux-oci", b)})
	if results[1].Status != Failed {
		t.Error("a hook of which both lanes have another one: want a failure")
	}
}

// What a chart generates is no difference, but only what it generates.
func TestGeneratedValues(t *testing.T) {
	secret := `{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: s}, stringData: {password: %q, user: %q}}`
	renders := 0
	render := func(context.Context) ([]bundle.Object, error) {
		renders++
		return []bundle.Object{{Object: object(t, fmt.Sprintf(secret, fmt.Sprint("pass", renders), "admin"))}}, nil
	}
	pair := func(userB string) []Result {
		a, b := taken(t, fmt.Sprintf(secret, "x", "admin")), taken(t, fmt.Sprintf(secret, "y", userB))
		a.render = render
		return compareAll(t, []ended{passed("a", "helm", a), passed("a", "flux-oci", b)})
	}
	r := pair("admin")[1]
	if r.Status != Passed || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "Secret ns/s data.password") {
		t.Errorf("got %s: %s, notes %q; want a pass with a note on the password", r.Status, r.Cause, r.Notes)
	}
	r = pair("root")[1]
	if r.Status != Failed || !strings.Contains(r.Cause, "data.user") || strings.Contains(fmt.Sprint(r.Cause, r.Details), "root") {
		t.Errorf("got %s: %s; want a failure on the user that does not tell it", r.Status, r.Cause)
	}
	a := taken(t, deploymentYAML(1))
	a.render = func(context.Context) ([]bundle.Object, error) { return nil, errors.New("no such chart") }
	results := compareAll(t, []ended{passed("a", "helm", a), passed("a", "flux-oci", taken(t, deploymentYAML(2)))})
	if got := results[1]; got.Status != Infrastructure || !strings.Contains(got.Cause, "no such chart") {
		t.Errorf("a comparison that cannot be made: got %s: %s", got.Status, got.Cause)
	}
}

// A known difference is a note and no failure; it holds for its own lanes only.
func TestBenignDifferences(t *testing.T) {
	rule := benignRule{object: "Deployment ns/*", path: "spec.rep*", lanes: []string{"flux-oci"}, reason: "because", link: "https://example.com"}
	for _, lane := range []string{"flux-oci", "argocd-oci"} {
		cells := []comparedLane{
			{&Result{Cell: Cell{"a", "helm"}}, taken(t, deploymentYAML(1))}, {&Result{Cell: Cell{"a", lane}, Verdict: Verdict{Status: Passed}}, taken(t, deploymentYAML(2))},
		}
		compareLanes(t.Context(), cells, []benignRule{rule}, Cell.String)
		if r := cells[1]; (r.Status == Passed) != (lane == "flux-oci") {
			t.Errorf("%s: got %s: %s", lane, r.Status, r.Cause)
		}
		if notes := strings.Join(cells[1].Notes, "\n"); lane == "flux-oci" {
			wantText(t, "note", notes, "differs from the helm lane (allowed): Deployment ns/web spec.replicas: because (https://example.com)")
		}
	}
}

func TestManyDifferencesAreBounded(t *testing.T) {
	a, b := taken(t), taken(t)
	for i := range 30 {
		text := fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: c%02d}}`, i)
		a.put(t, object(t, text), false)
	}
	results := compareAll(t, []ended{passed("a", "helm", a), passed("a", "flux-oci", b)})
	r := results[1]
	if len(r.Details) != mostDifferences+1 || r.Details[mostDifferences] != "and 10 more" || !strings.HasSuffix(r.Cause, "(and 29 more)") {
		t.Errorf("got cause %q and %d details, the last %q", r.Cause, len(r.Details), r.Details[len(r.Details)-1])
	}
}

// The evidence of a cell that failed in comparison says so, and is where the evidence of failures is.
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
	r := passed("a", "flux-oci", taken(t, deploymentYAML(2)))
	r.Artifacts = dir
	results := compareAll(t, []ended{passed("a", "helm", taken(t, deploymentYAML(1))), r})
	if got := filepath.Base(results[1].Artifacts); got != debugPrefix+"a-flux-oci-1" {
		t.Errorf("artifacts are in %s", got)
	}
	raw, err := os.ReadFile(filepath.Join(results[1].Artifacts, "cell.json"))
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "cell.json", string(raw), `"status": "failed"`, `"reason": "LANE_DIVERGENCE"`, `"observed": {`, `"comparedWith": "helm"`, debugPrefix)
	page, err := os.ReadFile(filepath.Join(results[1].Artifacts, "summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(page), "# a/flux-oci failed: LANE_DIVERGENCE") {
		t.Errorf("the page that is read first does not begin with the failure:\n%s", page)
	}
	wantText(t, "summary.md", string(page), "spec.replicas  helm: 1; flux-oci: 2", "again a/helm,flux-oci", "# passed by itself")
	if len(results[1].Details) != 1 {
		t.Errorf("details: %q", results[1].Details)
	}
	r = passed("a", "flux-oci", taken(t, deploymentYAML(2)))
	r.Artifacts = filepath.Join(t.TempDir(), logsPrefix+"gone")
	results = compareAll(t, []ended{passed("a", "helm", taken(t, deploymentYAML(1))), r})
	wantText(t, "details", strings.Join(results[1].Details, "\n"), "still say that the cell passed", "spec.replicas")
}
