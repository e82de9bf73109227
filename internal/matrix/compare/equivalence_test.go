package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// taken are live objects as a cell captures them, given as YAML.
func taken(t *testing.T, objs ...string) *Captured {
	t.Helper()
	c := New()
	for _, text := range objs {
		put(t, c, testkit.Parsed(t, text), false)
	}
	return c
}

func put(t *testing.T, c *Captured, o *unstructured.Unstructured, mayBeGone bool) {
	t.Helper()
	if err := c.Add(o, "r", mayBeGone); err != nil {
		t.Fatal(err)
	}
}

func lanePassed(recipe, deployer string, live *Captured) Lane {
	return Lane{&result.Result{Cell: result.Cell{Recipe: recipe, Deployer: deployer}, Verdict: result.Verdict{Status: result.Passed}, Rerun: "own"}, live, nil}
}

func compareAll(t *testing.T, lanes []Lane) []result.Result {
	t.Helper()
	Lanes(t.Context(), lanes, BenignRules(), func(c result.Cell) string { return "again " + c.String() })
	var results []result.Result
	for _, l := range lanes {
		results = append(results, *l.Result)
	}
	return results
}

func deploymentYAML(replicas int) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web}, spec: {replicas: %d}}`, replicas)
}

func TestCompareLanes(t *testing.T) {
	config := `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: extra}, data: {k: v}}`
	for name, tc := range map[string]struct {
		cells []Lane
		want  []string // per result: status, what it was compared with, a part of its cause
	}{
		"equal": {
			[]Lane{lanePassed("a", "helm", taken(t, deploymentYAML(1))), lanePassed("a", "flux-oci", taken(t, deploymentYAML(1)))},
			[]string{"passed  ", "passed helm "},
		},
		"a value": {
			[]Lane{lanePassed("a", "helm", taken(t, deploymentYAML(1))), lanePassed("a", "flux-oci", taken(t, deploymentYAML(2)))},
			[]string{"passed  ", "failed helm Deployment ns/web  spec.replicas  helm: 1; flux-oci: 2 [MX960]"},
		},
		"helm is what others are compared with, wherever it is in the list": {
			[]Lane{lanePassed("a", "flux-oci", taken(t, deploymentYAML(2))), lanePassed("a", "helm", taken(t, deploymentYAML(1)))},
			[]string{"failed helm spec.replicas  helm: 1; flux-oci: 2", "passed  "},
		},
		"without helm the first that passed": {
			[]Lane{lanePassed("a", "argocd-helm-oci", taken(t, deploymentYAML(1))), lanePassed("a", "flux-oci", taken(t, deploymentYAML(2)))},
			[]string{"passed  ", "failed argocd-helm-oci spec.replicas"},
		},
		"an object too few": {
			[]Lane{lanePassed("a", "helm", taken(t, deploymentYAML(1), config)), lanePassed("a", "flux-oci", taken(t, deploymentYAML(1)))},
			[]string{"passed  ", "failed helm ConfigMap ns/extra  helm: there; flux-oci: nothing"},
		},
		"an object too many": {
			[]Lane{lanePassed("a", "helm", taken(t, deploymentYAML(1))), lanePassed("a", "flux-oci", taken(t, deploymentYAML(1), config))},
			[]string{"passed  ", "failed helm ConfigMap ns/extra  helm: nothing; flux-oci: there"},
		},
		"one lane claims nothing": {[]Lane{lanePassed("a", "flux-oci", taken(t, deploymentYAML(2)))}, []string{"passed  "}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, r := range compareAll(t, tc.cells) {
				status, rest, _ := strings.Cut(tc.want[i], " ")
				with, cause, _ := strings.Cut(rest, " ")
				if string(r.Status) != status || r.ComparedWith != with || !strings.Contains(r.Cause, cause) {
					t.Errorf("%s: got %s, compared with %q: %s; want %s", r.Cell, r.Status, r.ComparedWith, r.Cause, tc.want[i])
				}
				if r.Status == result.Failed && r.ComparedWith != "" && (r.Reason != reason.LaneDivergence || r.Rerun != "again a/"+r.ComparedWith+","+r.Deployer) {
					t.Errorf("%s: got %s, rerun %q; want both lanes run again", r.Cell, r.Reason, r.Rerun)
				}
				if r.Status == result.Passed && r.Rerun != "own" {
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
	put(t, a, testkit.Parsed(t, fmt.Sprintf(hook, 1)), true)
	results := compareAll(t, []Lane{lanePassed("a", "helm", a), lanePassed("a", "flux-oci", b)})
	if results[1].Status != result.Passed {
		t.Errorf("a hook that is gone: got %s: %s", results[1].Status, results[1].Cause)
	}
	put(t, b, testkit.Parsed(t, fmt.Sprintf(hook, 2)), true)
	results = compareAll(t, []Lane{lanePassed("a", "helm", a), lanePassed("a", "flux-oci", b)})
	if results[1].Status != result.Failed {
		t.Error("a hook of which both lanes have another one: want a failure")
	}
}

// What a chart generates is no difference, but only what it generates.
func TestGeneratedValues(t *testing.T) {
	secret := `{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: s}, stringData: {password: %q, user: %q}}`
	renders := 0
	render := func(context.Context) ([]bundle.Object, error) {
		renders++
		return []bundle.Object{{Object: testkit.Parsed(t, fmt.Sprintf(secret, fmt.Sprint("pass", renders), "admin"))}}, nil
	}
	pair := func(userB string) []result.Result {
		a, b := taken(t, fmt.Sprintf(secret, "x", "admin")), taken(t, fmt.Sprintf(secret, "y", userB))
		a.Render = render
		return compareAll(t, []Lane{lanePassed("a", "helm", a), lanePassed("a", "flux-oci", b)})
	}
	r := pair("admin")[1]
	if r.Status != result.Passed || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "Secret ns/s data.password") {
		t.Errorf("got %s: %s, notes %q; want a pass with a note on the password", r.Status, r.Cause, r.Notes)
	}
	r = pair("root")[1]
	if r.Status != result.Failed || !strings.Contains(r.Cause, "data.user") || strings.Contains(fmt.Sprint(r.Cause, r.Details), "root") {
		t.Errorf("got %s: %s; want a failure on the user that does not tell it", r.Status, r.Cause)
	}
	a := taken(t, deploymentYAML(1))
	a.Render = func(context.Context) ([]bundle.Object, error) { return nil, errors.New("no such chart") }
	results := compareAll(t, []Lane{lanePassed("a", "helm", a), lanePassed("a", "flux-oci", taken(t, deploymentYAML(2)))})
	if got := results[1]; got.Status != result.Infrastructure || !strings.Contains(got.Cause, "no such chart") {
		t.Errorf("a comparison that cannot be made: got %s: %s", got.Status, got.Cause)
	}
}

// An object with a generated name is no difference. One of a steady name beside it is.
func TestGeneratedNames(t *testing.T) {
	named := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: `+name+`}}`)
		}
		return all
	}
	for name, tc := range map[string]struct {
		other []string
		want  result.Status
	}{
		"another name":   {named("steady", "run-b"), result.Passed},
		"a steady name":  {named("run-b"), result.Failed},
		"another's kind": {append(named("steady", "run-b"), `{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: run-b}}`), result.Failed},
	} {
		a, renders := taken(t, named("steady", "run-a")...), 0
		a.Render = func(context.Context) (all []bundle.Object, err error) {
			renders++
			for _, text := range named("steady", fmt.Sprint("run-", renders)) {
				all = append(all, bundle.Object{Object: testkit.Parsed(t, text)})
			}
			return all, nil
		}
		if got := compareAll(t, []Lane{lanePassed("a", "helm", a), lanePassed("a", "flux-oci", taken(t, tc.other...))})[1]; got.Status != tc.want {
			t.Errorf("%s: got %s: %s", name, got.Status, got.Cause)
		}
	}
}

// A known difference is a note and no failure; it holds for its own lanes only.
func TestBenignDifferences(t *testing.T) {
	rule := benignRule{object: "Deployment ns/*", path: "spec.rep*", lanes: []string{"flux-oci"}, reason: "because", link: "https://example.com"}
	for _, lane := range []string{"flux-oci", "argocd-oci"} {
		cells := []Lane{
			{&result.Result{Cell: result.Cell{Recipe: "a", Deployer: "helm"}}, taken(t, deploymentYAML(1)), nil}, {&result.Result{Cell: result.Cell{Recipe: "a", Deployer: lane}, Verdict: result.Verdict{Status: result.Passed}}, taken(t, deploymentYAML(2)), nil},
		}
		Lanes(t.Context(), cells, []benignRule{rule}, result.Cell.String)
		if r := cells[1]; (r.Status == result.Passed) != (lane == "flux-oci") {
			t.Errorf("%s: got %s: %s", lane, r.Status, r.Cause)
		}
		if notes := strings.Join(cells[1].Notes, "\n"); lane == "flux-oci" {
			testkit.WantText(t, "note", notes, "differs from the helm lane (allowed): Deployment ns/web spec.replicas: because (https://example.com)")
		}
	}
}

// A ConfigMap's text may lack its last line break in Flux's lane, and nothing else of it.
func TestLastNewline(t *testing.T) {
	with := func(text string) *Captured {
		c := taken(t)
		put(t, c, testkit.Parsed(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: c}, data: {config.yaml: %q, other: x}}", text)), false)
		return c
	}
	for name, tc := range map[string]struct {
		lane, helm, other string
		same              bool
	}{
		"without it":        {"flux-oci", "a: 1\nb: 2\n", "a: 1\nb: 2", true},
		"another lane":      {"argocd-oci", "a: 1\nb: 2\n", "a: 1\nb: 2", false},
		"another line":      {"flux-oci", "a: 1\nb: 2\n", "a: 1\nb: 3", false},
		"several":           {"flux-oci", "a: 1\n\n\n", "a: 1", true},
		"one in the middle": {"flux-oci", "a: 1\n\nb: 2", "a: 1\nb: 2", false},
		"a blank":           {"flux-oci", "a: 1 ", "a: 1", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := compareAll(t, []Lane{lanePassed("a", "helm", with(tc.helm)), lanePassed("a", tc.lane, with(tc.other))})[1]
			if (r.Status == result.Passed) != tc.same {
				t.Errorf("got %s: %s", r.Status, r.Cause)
			}
			if tc.same {
				testkit.WantText(t, "note", strings.Join(r.Notes, "\n"), `(allowed): ConfigMap ns/c data["config.yaml"]: helm-controller labels`)
			}
		})
	}
}

// An object that two components own with different content: the report names both.
func TestTwoOwners(t *testing.T) {
	with := func(replicas int, owners ...string) *Captured {
		c := taken(t, deploymentYAML(replicas))
		for key, o := range c.objects {
			o.owners = owners
			c.objects[key] = o
		}
		return c
	}
	const both = "gpu and dra own it with different content"
	for name, tc := range map[string]struct {
		replicas int
		owners   []string
		cause    string // none: passed
	}{
		"another one's":             {2, []string{"gpu", "dra"}, "Deployment ns/web: " + both + "; it differs from the helm lane: spec.replicas  helm: 1; flux-oci: 2 [MX960]"},
		"the same one's":            {1, []string{"gpu", "dra"}, ""},
		"another difference's text": {2, nil, "differs from the helm lane: Deployment ns/web  spec.replicas  helm: 1; flux-oci: 2 [MX960]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := compareAll(t, []Lane{lanePassed("a", "helm", with(1, tc.owners...)), lanePassed("a", "flux-oci", with(tc.replicas, tc.owners...))})[1]
			if r.Cause != tc.cause || (r.Status == result.Passed) != (tc.cause == "") {
				t.Errorf("got %s: %q; want %q", r.Status, r.Cause, tc.cause)
			}
			if tc.owners != nil && tc.cause != "" {
				testkit.WantText(t, "details", strings.Join(r.Details, "\n"), both+". Helm keeps the first one's, and Flux the last one's.")
			}
		})
	}
}

// Argo CD applies the object for each of its owners in turn: its lane fails by itself, whatever the
// object is like at the moment, and no other lane is blamed.
func TestFought(t *testing.T) {
	c := taken(t, deploymentYAML(1))
	if err := c.Fought(bundle.ArgoCDOCI); err != nil {
		t.Errorf("one owner: got %v", err)
	}
	for key, o := range c.objects {
		o.owners = []string{"gpu", "dra"}
		c.objects[key] = o
	}
	for _, other := range []string{bundle.Helm, bundle.FluxOCI} {
		if err := c.Fought(other); err != nil {
			t.Errorf("%s: got %v", other, err)
		}
	}
	for _, argo := range []string{bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI, bundle.ArgoCDGit} {
		v := result.VerdictOf(c.Fought(argo))
		if want := "Deployment ns/web: gpu and dra own it with different content, and Argo CD applies each in turn: it never settles"; v.Reason != reason.LaneDivergence || v.Cause != want {
			t.Errorf("%s: got %s %q, want %q", argo, v.Reason, v.Cause, want)
		}
	}
}

func TestDivergence_ManyDifferences(t *testing.T) {
	a, b := taken(t), taken(t)
	for i := range 30 {
		text := fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: c%02d}}`, i)
		put(t, a, testkit.Parsed(t, text), false)
	}
	results := compareAll(t, []Lane{lanePassed("a", "helm", a), lanePassed("a", "flux-oci", b)})
	r := results[1]
	if len(r.Details) != mostDifferences+1 || r.Details[mostDifferences] != "and 10 more" || !strings.HasSuffix(r.Cause, "(and 29 more) [MX960]") {
		t.Errorf("got cause %q and %d details, the last %q", r.Cause, len(r.Details), r.Details[len(r.Details)-1])
	}
}

// What differs is named as an object.
func TestDivergenceFields(t *testing.T) {
	results := compareAll(t, []Lane{lanePassed("a", "helm", taken(t, deploymentYAML(1))), lanePassed("a", "flux-oci", taken(t, deploymentYAML(2)))})
	if got := testkit.OutlineOf(&results[1].Findings[0]); got != "Deployment ns/web" {
		t.Errorf("got %q", got)
	}
}

// What the user ignores of a comparison is kept, and fails nothing; another object still does.
func TestIgnored(t *testing.T) {
	for ignored, want := range map[string]result.Status{"Deployment/ns/web": result.Passed, "Deployment/ns/other": result.Failed} {
		ignores, err := judge.NewIgnores(Checks(), []string{"MX960=" + ignored}, "", false)
		if err != nil {
			t.Fatal(err)
		}
		cells := []Lane{lanePassed("a", "helm", taken(t, deploymentYAML(1))), lanePassed("a", "flux-oci", taken(t, deploymentYAML(2)))}
		cells[1].Bench = &judge.Bench{Checks: Checks(), Ignore: ignores}
		r := compareAll(t, cells)[1]
		if r.Status != want || len(r.Judged) != 1 || r.Judged[0].Check != "MX960" || r.Judged[0].Reason != reason.LaneDivergence || (len(r.Ignored) == 1) != (want == result.Passed) {
			t.Errorf("%s: got %s %q, judged %+v, ignored %q", ignored, r.Status, r.Cause, r.Judged, r.Ignored)
		}
	}
}
