package evidence

import (
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var (
	one = "sha256:" + strings.Repeat("1", 64)
	two = "sha256:" + strings.Repeat("2", 64)
)

func chart(version, digest string) []result.Chart {
	return []result.Chart{{Component: "web", Release: "web-pre", Name: "web-pre", Version: "9.9.9", Digest: two}, {Component: "web", Release: "web", Name: "web", Version: version, Digest: digest, From: "dir"}}
}

// sample is what a run leaves: helm passed, flux was red by web, argocd's base was.
func sample(t *testing.T, change func(*Document, []result.Result)) *Document {
	t.Helper()
	cell := func(deployer, from string, v result.Verdict) result.Result {
		r := result.Result{Cell: result.Cell{Recipe: "eks", Deployer: deployer, From: from}, Verdict: v}
		if from != "" {
			r.RenderedBefore, r.Rendered = chart("v1.0.0", one), chart("v1.1.0", two)
			r.Change = &result.Change{Objects: 3, Rendered: !v.Status.Good(), Components: []result.ComponentChange{{Component: "web", Rolls: []result.Roll{{Pods: 2}}}}}
			r.Phases = []result.Phase{{Name: "bundle"}, {Name: "upgrade"}}
		}
		return r
	}
	passed := result.Verdict{Status: result.Passed}
	results := []result.Result{
		cell("helm", "", passed), cell("flux-oci", "", passed), cell("argocd-oci", "", passed),
		cell("helm", "main", passed),
		cell("flux-oci", "main", result.Verdict{Status: result.Failed, Reason: reason.UpgradeFailed, Cause: "spec.selector", Findings: []result.Finding{{Component: "web"}}}),
		cell("argocd-oci", "main", result.Verdict{Status: result.NotRun, Reason: reason.BaseFailed, Cause: "no verdict"}),
	}
	d := &Document{Run: Run{ID: "r1", URL: "https://ci.example.com/o/r/actions/runs/7", Tool: "matrix", Version: "v1", Written: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)}, Operators: "simulated"}
	if change != nil {
		change(d, results)
	}
	d.Of(results, func(string) map[string]string { return map[string]string{"service": "eks"} })
	return d
}

func encoded(t *testing.T, d *Document) string {
	t.Helper()
	data, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What is written is read again, with each upgrade as it ended.
func TestDocument(t *testing.T) {
	d, err := read([]byte(encoded(t, sample(t, nil))))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.Upgrades); n != 3 || d.Address() == "" {
		t.Fatalf("got %d upgrades, address %q", n, d.Address())
	}
	helm, flux, argo := d.Upgrades[0], d.Upgrades[1], d.Upgrades[2]
	if helm.Verdict != result.Passed || helm.FirstInstallation != result.Passed || helm.Step != "" || helm.Difference.Components[0].Rolls[0].Pods != 2 {
		t.Errorf("helm: got %+v", helm)
	}
	if flux.Verdict != result.Failed || flux.Step != "upgrade" || flux.Component != "web" || flux.Cause != "spec.selector" || !flux.Difference.Rendered {
		t.Errorf("flux-oci: got %+v", flux)
	}
	if argo.Verdict != result.NotRun || argo.Reason != reason.BaseFailed {
		t.Errorf("argocd-oci: got %+v", argo)
	}
}

// A file that was cut off, edited, or is something else is no evidence.
func TestRead(t *testing.T) {
	whole := encoded(t, sample(t, nil))
	resealed := func(change func(*Document)) string {
		d := sample(t, nil)
		change(d)
		return encoded(t, d)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":                  {"", "cut off, or not JSON"},
		"cut off":                {whole[:len(whole)/2], "cut off, or not JSON"},
		"a verdict edited":       {strings.Replace(whole, `"verdict": "failed"`, `"verdict": "passed"`, 1), "its seal is not that of its content"},
		"a digest edited":        {strings.Replace(whole, one, two, 1), "its seal is not that of its content"},
		"a lane removed":         {strings.Replace(whole, `"deployer": "flux-oci"`, `"deployer": "helm"`, 1), "its seal"},
		"without a seal":         {strings.Replace(whole, `"seal": "sha256:`, `"seal": "`, 1), "its seal"},
		"another kind":           {`{"apiVersion": "aicr.run/v1", "kind": "Snapshot"}`, "this program reads aicr.nvidia.com/v1alpha1, UpgradeEvidence"},
		"an older version":       {strings.Replace(whole, "v1alpha1", "v1alpha0", 1), "run the upgrade again"},
		"a field more":           {strings.Replace(whole, `"charts": ""`, `"charts": "", "signature": "x"`, 1), "another version of this program, or edited"},
		"two documents":          {whole + whole, "cut off, or not JSON"},
		"a results file":         {`{"reportFormat": "CTRF"}`, "it has apiVersion"},
		"sealed without a run":   {resealed(func(d *Document) { d.Run.ID = "" }), "which run"},
		"sealed, no cluster":     {resealed(func(d *Document) { d.Upgrades[1].Verdict = result.Passed }), "upgrade 2 (eks/flux-oci) is said to have passed"},
		"sealed, rendered only":  {resealed(func(d *Document) { d.Upgrades[0].Difference.Rendered = true }), "upgrade 1 (eks/helm) is said to have passed"},
		"sealed, no verdict":     {resealed(func(d *Document) { d.Upgrades[0].Verdict = "fine" }), "no recipe, deployer or verdict"},
		"sealed, a digest short": {resealed(func(d *Document) { d.Upgrades[0].After = chart("v1.1.0", "sha256:1") }), "is none"},
	} {
		if _, err := read([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	for _, address := range []string{"", "http://ci.example.com/a", "https://", "https://ci.example.com", "file:///etc", "https://a:b@ci.example.com/x", "javascript:alert(1)"} {
		d := Document{Run: Run{URL: address}}
		if got := d.Address(); got != "" {
			t.Errorf("%q counts as an address that anyone can open: %s", address, got)
		}
	}
}

// A move is covered only by an upgrade of the same criteria with the same versions and files that
// passed, as its first installation did; one that failed by the component contradicts it.
func TestCovers(t *testing.T) {
	asked := func(change func(*Question)) Question {
		q := Question{Component: "web", From: Side{"1.0.0", one}, To: Side{"v1.1.0", two}, Criteria: map[string]string{"service": "eks"}, Deployer: "helm"}
		if change != nil {
			change(&q)
		}
		return q
	}
	for name, c := range map[string]struct {
		q      Question
		change func(*Document, []result.Result)
		covers bool
		why    string
	}{
		"helm":                   {asked(nil), nil, true, ""},
		"any deployer":           {asked(func(q *Question) { q.Deployer = "" }), nil, false, "flux-oci: the upgrade ended with UPGRADE_FAILED"},
		"flux":                   {asked(func(q *Question) { q.Deployer = "flux" }), nil, false, "UPGRADE_FAILED"},
		"red base":               {asked(func(q *Question) { q.Deployer = "argocd" }), nil, false, "no verdict (not run BASE_FAILED)"},
		"helmfile":               {asked(func(q *Question) { q.Deployer = "helmfile" }), nil, false, "another deployer"},
		"another recipe":         {asked(func(q *Question) { q.Criteria = map[string]string{"service": "gke"} }), nil, false, "another recipe, with the criteria service=eks"},
		"another component":      {asked(func(q *Question) { q.Component = "db" }), nil, false, "without the component before"},
		"the old version":        {asked(func(q *Question) { q.From.Version = "0.9.0" }), nil, false, "web was v1.0.0 before, and not 0.9.0"},
		"the new version":        {asked(func(q *Question) { q.To.Version = "1.2.0" }), nil, false, "web was v1.1.0 after, and not 1.2.0"},
		"other files":            {asked(func(q *Question) { q.To.Digest = one }), nil, false, "the chart after had other files"},
		"files not known":        {asked(func(q *Question) { q.From.Digest = "" }), nil, false, "digest before is not known"},
		"no digest was recorded": {asked(nil), func(_ *Document, r []result.Result) { r[3].Rendered = chart("v1.1.0", "") }, false, "digest after is not known"},
		"a release besides":      {asked(func(q *Question) { q.From, q.To = Side{"9.9.9", two}, Side{"9.9.9", two} }), nil, false, "web was v1.0.0 before"},
		"first installation red": {asked(nil), func(_ *Document, r []result.Result) { r[0].Status, r[0].Reason = result.Failed, reason.DeployFailed }, false, "the first installation is failed"},
		"the upgrade timed out": {asked(nil), func(_ *Document, r []result.Result) {
			r[3].Verdict = result.Verdict{Status: result.Timeout, Reason: reason.SyncTimeout}
		}, false, "SYNC_TIMEOUT"},
		"skipped": {asked(nil), func(_ *Document, r []result.Result) { r[3].Verdict = result.Verdict{Status: result.Skipped} }, false, "no verdict (skipped )"},
		"by another component": {asked(nil), func(_ *Document, r []result.Result) {
			r[3].Verdict = result.Verdict{Status: result.Failed, Reason: reason.UpgradeFailed, Findings: []result.Finding{{Component: "db"}}}
		}, false, "UPGRADE_FAILED"},
	} {
		a := sample(t, c.change).Covers(c.q)
		if a.Covers() != c.covers || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: got %v, %q; want %v, %q", name, a.Covers(), a.Why, c.covers, c.why)
		}
		if blamed := len(a.Failed) > 0; blamed != (name == "flux" || name == "any deployer" || name == "the upgrade timed out") {
			t.Errorf("%s: the failures that count are %+v", name, a.Failed)
		}
	}
	if a := (&Document{}).Covers(asked(nil)); a.Covers() || a.Why != "it has no upgrade" {
		t.Errorf("a document without upgrades: got %+v", a)
	}
}
