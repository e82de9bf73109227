package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// runOf writes the results of one job of a CI run.
func runOf(t *testing.T, dir, run string, results ...result.Result) {
	t.Helper()
	meta := report.Meta{RunID: "r" + run, Code: cli.CodeInReport, Written: time.Now(), CI: report.CI{RunID: run, URL: "https://github.com/o/r/actions/runs/" + run, Commit: "0123456789" + run}}
	if err := (report.Files{Results: filepath.Join(dir, report.FileName)}).Write(&report.Report{Meta: meta, Results: results}); err != nil {
		t.Fatal(err)
	}
}

// ended is a cell of the recipe eks.
func ended(deployer string, status result.Status, why reason.Reason, key string) result.Result {
	cell := result.Cell{Recipe: "eks", Deployer: deployer}
	r := result.Result{Cell: cell, Verdict: result.Verdict{Status: status, Reason: why}, Key: key, Started: time.Now(), Rerun: "matrix run eks", Pods: 3}
	if !status.Good() {
		r.Cause = "it did not work"
		r.Upload = &result.Upload{Artifact: "kwok-debug-1", Directory: "kwok-debug-eks-" + deployer, Snapshot: true, Repository: "o/r", Run: "7", URL: "https://github.com/o/r/actions/runs/7"}
	}
	return r
}

func planFile(t *testing.T, deployers ...string) string {
	t.Helper()
	var entries []string
	for _, d := range deployers {
		entries = append(entries, fmt.Sprintf(`{"recipe":"eks","deployer":%q}`, d))
	}
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte(`{"entries":[`+strings.Join(entries, ",")+`],"skipped":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// The exit code of merge --plan is that of a run of all planned cells, even if files of some jobs
// are missing.
func TestMergePlan(t *testing.T) {
	helm, flux := ended("helm", result.Passed, "", "k"), ended("flux-oci", result.Passed, "", "k")
	red := ended("flux-oci", result.Failed, reason.DeployFailed, "k")
	stopped := ended("flux-oci", result.Interrupted, reason.Interrupted, "")
	for name, test := range map[string]struct {
		plan, results []string
		write         func(t *testing.T, dir string)
		code          int
		conclusion    string
		want          string // in the summary
	}{
		"green": {plan: []string{"helm", "flux-oci"}, write: func(t *testing.T, dir string) { runOf(t, dir+"/a", "7", helm); runOf(t, dir+"/b", "7", flux) }, code: 0, conclusion: "success", want: "## ✓ AICR matrix: 2 cells: 2 passed"},
		"red":   {plan: []string{"helm", "flux-oci"}, write: func(t *testing.T, dir string) { runOf(t, dir, "7", helm, red) }, code: 51, conclusion: "failure", want: "gh run download 7 --repo o/r --name kwok-debug-1 --dir kwok-debug-1 && matrix replay kwok-debug-1/kwok-debug-eks-flux-oci"},
		"a job without results": {plan: []string{"helm", "flux-oci"}, write: func(t *testing.T, dir string) { runOf(t, dir, "7", helm) }, code: 143, conclusion: "failure",
			want: "no job of this run left a result for this cell"},
		"a cancelled job":    {plan: []string{"helm", "flux-oci"}, write: func(t *testing.T, dir string) { runOf(t, dir, "7", helm, stopped) }, code: 143, conclusion: "failure", want: "interrupted"},
		"lost and red":       {plan: []string{"helm", "flux-oci"}, write: func(t *testing.T, dir string) { runOf(t, dir, "7", red) }, code: 51, conclusion: "failure", want: "DEPLOY_FAILED"},
		"nothing selected":   {write: func(*testing.T, string) {}, code: 3, conclusion: "neutral", want: "nothing was checked"},
		"no results at all":  {plan: []string{"helm"}, write: func(*testing.T, string) {}, code: 143, conclusion: "failure", want: "1 not run"},
		"another run's":      {plan: []string{"helm"}, write: func(t *testing.T, dir string) { runOf(t, dir, "6", helm) }, code: 2, conclusion: "failure", want: "it is of run 6, and this is run 7"},
		"a cell not planned": {plan: []string{"helm"}, write: func(t *testing.T, dir string) { runOf(t, dir, "7", helm, flux) }, code: 2, conclusion: "failure", want: "eks/flux-oci, which the plan of this run does not have"},
		"a link to a results file": {plan: []string{"helm"}, write: func(t *testing.T, dir string) {
			elsewhere := t.TempDir()
			runOf(t, elsewhere, "7", helm)
			if err := os.Symlink(filepath.Join(elsewhere, report.FileName), filepath.Join(dir, report.FileName)); err != nil {
				t.Fatal(err)
			}
		}, code: 143, conclusion: "failure", want: "1 not run"},
		"an earlier attempt was red": {plan: []string{"flux-oci"}, write: func(t *testing.T, dir string) {
			runOf(t, dir+"/1", "7", red)
			later := flux
			later.Started = red.Started.Add(time.Minute)
			runOf(t, dir+"/2", "7", later)
		}, code: 0, conclusion: "success", want: "1 passed"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			test.write(t, dir)
			summary, outputs := filepath.Join(out, "summary.md"), filepath.Join(out, "outputs")
			env := []string{"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=7", "GITHUB_REPOSITORY=o/r", "GITHUB_SERVER_URL=https://github.com"}
			r := invoke(t, env, "merge", dir, "--plan", planFile(t, test.plan...), "-o", out, "--summary", summary, "--outputs", outputs, "--html", filepath.Join(out, "report.html"))
			text, err := os.ReadFile(summary)
			if err != nil || r.code != test.code || !strings.Contains(string(text), test.want) {
				t.Errorf("code %d, want %d and %q (%v) in\n%s\n%s", r.code, test.code, test.want, err, text, r.stderr)
			}
			if raw, err := os.ReadFile(outputs); err != nil || !strings.Contains(string(raw), "\n"+test.conclusion+"\n") {
				t.Errorf("outputs (%v): want the conclusion %s in\n%s", err, test.conclusion, raw)
			}
			merged, err := report.Read(filepath.Join(out, report.FileName))
			if err != nil || merged.Green() != (test.code == 0) {
				t.Errorf("the merged file: green %v, %v", merged != nil && merged.Green(), err)
			}
		})
	}
	for name, content := range map[string]string{"not JSON": "a plan", "another file": `{"a":1}`, "a cell without a name": `{"entries":[{"recipe":"eks"}],"skipped":[]}`} {
		file := filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := invoke(t, nil, "merge", "--plan", file, "-o", t.TempDir()); r.code != 2 || !strings.Contains(r.stderr, file) {
			t.Errorf("%s: code %d\n%s", name, r.code, r.stderr)
		}
	}
	invoke(t, nil, "merge", "-o", t.TempDir()).want(t, 2, "no results to merge")
}

// Every report compares each failed cell with earlier runs.
func TestMergeHistory(t *testing.T) {
	history := filepath.Join(t.TempDir(), "sub", "history.json")
	merge := func(run string, results ...result.Result) (merged *report.Report, page, md string) {
		t.Helper()
		dir, out := t.TempDir(), t.TempDir()
		runOf(t, dir, run, results...)
		invoke(t, nil, "merge", dir, "-o", out, "--history", history, "--html", out+"/report.html", "--summary", out+"/summary.md", "--junit", out+"/junit.xml").want(t, 0)
		merged, err := report.Read(filepath.Join(out, report.FileName))
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, name := range []string{"report.html", "summary.md"} {
			raw, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(raw))
		}
		return merged, texts[0], texts[1]
	}
	good := func(deployer, key string) result.Result { return ended(deployer, result.Passed, "", key) }
	red := func(deployer, key string) result.Result {
		return ended(deployer, result.Failed, reason.DeployFailed, key)
	}
	first, _, md := merge("1", good("helm", "a"), red("flux-oci", "a"), good("argocd-oci", "a"))
	if first.Results[0].Past != nil || strings.Contains(md, "Before") {
		t.Errorf("a first run has a past: %+v\n%s", first.Results, md)
	}
	second, page, md := merge("2", red("helm", "b"), red("flux-oci", "b"), red("argocd-oci", "a"), red("argocd-helm-oci", "a"))
	want := map[string]result.Known{"helm": result.New, "flux-oci": result.AlreadyRed, "argocd-oci": result.Flaky, "argocd-helm-oci": ""}
	for _, c := range second.Results {
		if c.Known != want[c.Deployer] {
			t.Errorf("%s is %q, want %q", c.Cell, c.Known, want[c.Deployer])
		}
	}
	wantText(t, "md", md, "**Before:** `new, passed in run 1 (0123456): eks/helm; already red in run 1 (0123456): eks/flux-oci; flaky, ended both ways with the same inputs: eks/argocd-oci`")
	wantText(t, "html", page, `<a href="https://github.com/o/r/actions/runs/1" title="run 1, 0123456">`, `title="run 1, 0123456: DEPLOY_FAILED"`, "<p>Before: new</p>")
	// The same run again, as its second attempt: it does not count as one before.
	again, _, _ := merge("2", good("helm", "c"), red("flux-oci", "c"))
	if got := again.Results; len(got[0].Past)+len(got[1].Past) != 2 || got[1].Known != result.AlreadyRed && got[0].Known != result.AlreadyRed {
		t.Errorf("got %+v", got)
	}
	// An invalid history file is replaced, with a warning.
	if err := os.WriteFile(history, []byte(`{"aicrActionHistory":9}`), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	runOf(t, dir, "3", good("helm", "a"))
	invoke(t, nil, "merge", dir, "-o", t.TempDir(), "--history", history).want(t, 0, "has version 9", "a new history is started")
	if h, err := report.ReadPast(history); err != nil || len(h.Runs) != 1 {
		t.Errorf("got %+v, %v", h, err)
	}
	if err := os.Truncate(history, 64<<20+1); err != nil {
		t.Fatal(err)
	}
	invoke(t, nil, "merge", dir, "-o", t.TempDir(), "--history", history).want(t, 0, "larger than 64 MiB", "a new history is started")
	// An untrusted history, with the failed cell's own key: it changes the remark about the cell,
	// and never its verdict.
	if err := os.WriteFile(history, []byte(`{"aicrActionHistory":1,"runs":[{"run":"<img src=x>`+"`"+` @team","url":"javascript:alert(1)","cells":{"eks/helm":{"status":"passed","key":"a","verdict":"passed"}}}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	told, page, md := merge("4", red("helm", "a"))
	if told.Green() || told.Results[0].Status != result.Failed || told.Results[0].Known != result.Flaky {
		t.Errorf("with a stranger's history: %+v", told.Results)
	}
	if strings.Contains(page, "<img") || strings.Contains(page, `href="javascript`) || strings.Contains(md, "\n@team") || !strings.Contains(md, "flaky") {
		t.Errorf("a stranger's history in the summary:\n%s", md)
	}
}
