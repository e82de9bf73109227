package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/evidence"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// managers is a directory with cert-manager in both versions, and the digests of their files.
func managers(t *testing.T) (dir string, digests [2]string) {
	t.Helper()
	dir = t.TempDir()
	for i, version := range []string{"v1.17.2", "v1.18.0"} {
		chart := filepath.Join(dir, version)
		if err := os.MkdirAll(chart, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("apiVersion: v2\nname: cert-manager\nversion: "+version+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		source, err := catalog.FromDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		ch, _, err := source.Load(t.Context(), catalog.Ref{Name: "cert-manager", Version: version})
		if err != nil {
			t.Fatal(err)
		}
		if digests[i], err = archive.Digest(ch); err != nil {
			t.Fatal(err)
		}
	}
	return dir, digests
}

// proof writes the evidence of one upgrade through helm.
func proof(t *testing.T, digests [2]string, change func(*evidence.Document, *result.Result)) string {
	t.Helper()
	chart := func(version, digest string) []result.Chart {
		return []result.Chart{{Component: "cert-manager", Release: "cert-manager", Name: "cert-manager", Version: version, Digest: archive.DigestPrefix + digest, From: "dir"}}
	}
	cell := result.Cell{Recipe: "h100-eks-training", Deployer: "helm"}
	first, up := result.Result{Cell: cell, Verdict: result.Verdict{Status: result.Passed}}, result.Result{Cell: cell, Verdict: result.Verdict{Status: result.Passed}}
	up.From, up.Change, up.RenderedBefore, up.Rendered = "main", &result.Change{Objects: 1}, chart("v1.17.2", digests[0]), chart("v1.18.0", digests[1])
	d := &evidence.Document{Run: evidence.Run{ID: "1", URL: "https://ci.example.com/o/r/actions/runs/7", Tool: "matrix", Written: time.Now().UTC().Round(time.Second)}, To: evidence.Source{Commit: "abc"}, Operators: "simulated", Charts: "upstream"}
	if change != nil {
		change(d, &up)
	}
	d.Of([]result.Result{first, up}, func(string) map[string]string {
		return map[string]string{"service": "eks", "accelerator": "h100", "intent": "training"}
	})
	data, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "evidence.json")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// A file stands beside a verdict, and never makes one: a safe that it does not cover is said to be
// that, one that it contradicts needs attention, and a record is proposed where one is owed.
func TestUpgradeCheckEvidence(t *testing.T) {
	old := recipeFile(t)
	safe := newer(t, "  - from: \"<1.18.0\"\n    to: \">=1.18.0 <1.19.0\"\n    verdict: safe\n    verifiedBy: a run on KWOK\n")
	owed := newer(t, "  - from: \"<1.1.0\"\n    to: \">=1.1.0 <1.2.0\"\n    verdict: safe\n    verifiedBy: a run on KWOK\n")
	charts, digests := managers(t)
	red := func(_ *evidence.Document, r *result.Result) {
		r.Verdict = result.Verdict{Status: result.Failed, Reason: reason.UpgradeFailed, Cause: "Deployment x: spec.selector cannot be changed", Findings: []result.Finding{{Component: "cert-manager"}}}
		r.Phases = []result.Phase{{Name: "upgrade"}}
	}
	others := [2]string{digests[1], digests[0]}
	for name, c := range map[string]struct {
		recipes, file, charts string
		code                  int
		want                  []string
	}{
		"covered":         {safe, proof(t, digests, nil), charts, 0, []string{"safe      covered", "covered by ", "through helm"}},
		"other files":     {safe, proof(t, others, nil), charts, 0, []string{"safe      not covered", "the chart before had other files"}},
		"simulated":       {safe, proof(t, digests, nil), "simulated", 0, []string{"not covered", "only the files of original charts are compared"}},
		"a chart missing": {safe, proof(t, digests, nil), t.TempDir(), 0, []string{"not covered", "the old chart: chart cert-manager v1.17.2 is not in"}},
		"contradicted":    {safe, proof(t, digests, red), charts, 2, []string{"safe      contradicted", "contradicted by ", "helm: UPGRADE_FAILED at the step upgrade: Deployment x"}},
		"no base": {safe, proof(t, digests, func(_ *evidence.Document, r *result.Result) {
			r.Verdict = result.Verdict{Status: result.NotRun, Reason: reason.BaseFailed}
		}), charts, 0, []string{"not covered", "BASE_FAILED"}},
		"a safe record":   {owed, proof(t, digests, nil), charts, 2, []string{"unknown", "a record that could be written", "verdict: safe", "verifiedBy: KWOK run https://ci.example.com/o/r/actions/runs/7 through helm; simulated operators", "commit abc"}},
		"a manual record": {owed, proof(t, digests, red), charts, 2, []string{"unknown", "verdict: manual", "The upgrade failed: Deployment x", "id: before-the-upgrade"}},
		"without an address": {owed, proof(t, digests, func(d *evidence.Document, _ *result.Result) { d.Run.URL = "" }), charts, 2,
			[]string{"no record is proposed", "no address that a reviewer could open"}},
		"not of this move": {owed, proof(t, others, nil), charts, 2, []string{"no record is proposed: no upgrade has shown the move"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := invoke(t, "upgrade-check", "--from", old, "--recipes-dir", c.recipes, "--evidence", c.file, "--charts", c.charts)
			if r.code != c.code {
				t.Errorf("got %d, want %d: %s", r.code, c.code, r.stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("the report lacks %q:\n%s", want, r.stdout)
				}
			}
		})
	}
	forged := proof(t, digests, red)
	if err := os.WriteFile(forged, []byte(strings.Replace(read(t, forged), `"verdict": "failed"`, `"verdict": "passed"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	invoke(t, "upgrade-check", "--from", old, "--recipes-dir", safe, "--evidence", forged).want(t, 2, "--evidence: ", "was edited after the run wrote it")
	invoke(t, "upgrade-check", "--from", old, "--recipes-dir", safe, "--evidence", old).want(t, 2, "is no evidence")
	var report upgradeReport
	asJSON := invoke(t, "upgrade-check", "--from", old, "--recipes-dir", safe, "--evidence", proof(t, digests, nil), "--charts", charts, "-t", "json")
	if err := json.Unmarshal([]byte(asJSON.stdout), &report); err != nil || len(report.Components) != 1 || report.Components[0].Verdict != recipe.UpgradeSafe || !report.Components[0].Evidence[0].Covers {
		t.Errorf("got %v, %s", err, asJSON.stdout)
	}
}
