package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// resultsFile writes results as a run does.
func resultsFile(t *testing.T, results []result.Result) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), report.FileName)
	if err := (report.Files{Results: file}).Write(&report.Report{Meta: report.Meta{RunID: "1", Code: cli.CodeInReport}, Results: results}); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReportCommand(t *testing.T) {
	file := resultsFile(t, sampleResults())
	for format, want := range map[string]string{
		"md": "| `eks` | ✓ 12.3 s, 110 pods |", "html": "<!doctype html>", "junit": `<testcase name="kwok/eks/helm"`, "annotations": "::error title=COMPONENT_DIED (14) in 1 cell::",
		"comment": "| `eks` | `helm` ✓ 12.3 s, 110 pods<br>",
	} {
		r := invoke(t, nil, "report", file, "--format", format)
		r.want(t, 0)
		wantText(t, format, r.stdout, want)
		if strings.Contains(format, "html") && !strings.Contains(r.stdout, "SCHEDULING_FAILED (1)") {
			t.Error("the HTML report lacks exit codes")
		}
	}
	invoke(t, nil, "report", file, "--format", "pdf").want(t, 2, `"pdf"`, "md, html, junit, sarif, annotations or comment")
	invoke(t, nil, "report").want(t, 2, "requires at least 1 arg")
	absent := filepath.Join(t.TempDir(), "absent.json")
	invoke(t, nil, "report", absent).want(t, 2, absent)
	// One bad file: the others are reported, with a remark, and the code says that something is
	// missing.
	r := invoke(t, nil, "report", file, absent)
	if r.code != 2 || !strings.Contains(r.stdout, "**Not included:**") || !strings.Contains(r.stdout, "`eks-training`") {
		t.Errorf("got code %d and\n%s", r.code, r.stdout)
	}
}

// A Check Run has the report. A token that may not
// write leaves it out with one line; the server is a fake of GitHub's API.
func TestReportCommand_CheckRun(t *testing.T) {
	file, denied := resultsFile(t, sampleResults()), false
	var got struct {
		Name       string `json:"name"`
		Commit     string `json:"head_sha"`
		Conclusion string `json:"conclusion"`
		Details    string `json:"details_url"`
		Output     struct {
			Title   string `json:"title"`
			Summary string `json:"summary"`
		} `json:"output"`
	}
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if denied {
			http.Error(w, `{"message":"Resource not accessible by integration"}`, http.StatusForbidden)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.URL.Path != "/repos/o/r/check-runs" {
			t.Errorf("asked %s: %v", r.URL.Path, err)
		}
		_, _ = io.WriteString(w, `{"id":1,"html_url":"https://github.com/o/r/runs/1"}`)
	}))
	defer fake.Close()
	sha := strings.Repeat("a1", 20)
	env := []string{"GITHUB_API_URL=" + fake.URL, "GITHUB_REPOSITORY=o/r", "GITHUB_TOKEN=t"}
	args := []string{"report", file, "--check-run", "AICR recipes", "--commit", sha, "--run-url", "https://github.com/o/r/actions/runs/7"}
	r := invoke(t, env, args...)
	r.want(t, 0)
	wantText(t, "stdout", r.stdout, "https://github.com/o/r/runs/1\n")
	if got.Name != "AICR recipes" || got.Commit != sha || got.Conclusion != "failure" || got.Details != "https://github.com/o/r/actions/runs/7" || !strings.Contains(got.Output.Title, "9 cells") || !strings.Contains(got.Output.Summary, "| `eks` |") {
		t.Errorf("got %+v", got)
	}
	green := resultsFile(t, sampleResults()[:1])
	for ended, want := range map[string]string{"success": "success", "cancelled": "failure"} {
		invoke(t, env, "report", green, "--check-run", "a", "--commit", sha, "--run-conclusion", ended).want(t, 0)
		if got.Conclusion != want {
			t.Errorf("a green report of a run that ended as %s is %s, want %s", ended, got.Conclusion, want)
		}
	}
	denied = true
	invoke(t, env, args...).want(t, 0, `Check Run "AICR recipes" is left out`, "checks: write")
	invoke(t, env, "report", file, "--check-run", "a", "--commit", "main").want(t, 2, "full SHA")
	invoke(t, nil, "report", file, "--commit", sha).want(t, 2, "are for --check-run NAME")
}

func TestMergeCommand(t *testing.T) {
	all := sampleResults()
	one, two := resultsFile(t, all[:4]), resultsFile(t, all[4:])
	cut := filepath.Join(t.TempDir(), "cut.json")
	raw, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, raw[:len(raw)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	invoke(t, nil, "merge", one, two, "-o", out).want(t, 0, "2 of 2 files merged", "9 cells: 2 passed")
	merged, err := report.Read(filepath.Join(out, report.FileName))
	if err != nil || len(merged.Results) != len(all) {
		t.Fatalf("got %+v, %v; want %d results", merged, err, len(all))
	}
	file := filepath.Join(out, "new", "merged.json")
	invoke(t, nil, "merge", one, cut, "-o", file).want(t, 2, "1 of 2 files merged", cut, "cut off")
	if merged, err = report.Read(file); err != nil || len(merged.Unread) != 1 || len(merged.Results) != 4 {
		t.Errorf("got %+v, %v; want 4 results and the file that is missing", merged, err)
	}
	invoke(t, nil, "merge", one).want(t, 2, "--to: name a file")
}

// What is wrong with the reports' flags is said before anything is started.
func TestReportFlags(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"results is a file":  {[]string{"--results", file}, []string{"write the results to", file}},
		"html is a dir":      {[]string{"--html", dir}, []string{"write the HTML report to", "it is a directory"}},
		"junit below a file": {[]string{"--junit", filepath.Join(file, "x")}, []string{"write the JUnit report to"}},
		"summary is a dir":   {[]string{"--summary", dir}, []string{"write the summary to"}},
		"progress":           {[]string{"--progress", "xml"}, []string{`"xml"`, "text or json"}},
		"two for stdout":     {[]string{"--progress", "json", "-o", "json"}, []string{"both want stdout", "--results"}},
	} {
		t.Run(name, func(t *testing.T) {
			invoke(t, nil, append([]string{"run", "eks", "-d", "helm"}, tc.args...)...).want(t, 2, tc.want...)
		})
	}
}

// A cause quotes charts, pods and controllers. Printed in a step's log, none of it is a command to
// the runner.
func TestReports_UntrustedText(t *testing.T) {
	const cause = "##[error]z\n::error::x\n  ::add-mask::y"
	results := []result.Result{{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}, Verdict: result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Cause: cause}, Rerun: "again"}}
	texts := map[string]string{"md": invoke(t, nil, "report", resultsFile(t, results)).stdout}
	for _, format := range []string{"table", "json"} {
		var b strings.Builder
		if err := reports.Print(&b, results, format, 0, false); err != nil {
			t.Fatal(err)
		}
		texts[format] = b.String()
	}
	for format, text := range texts {
		if !strings.Contains(text, "[error]z") || strings.Contains(text, "##[") {
			t.Errorf("%s: want the cause, without a command in it:\n%s", format, text)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") {
				t.Errorf("%s: a command: %q", format, line)
			}
		}
	}
}

// A run that ends before its first cell leaves reports in which nothing has passed and the reason
// is named.
func TestReports_FailedSetup(t *testing.T) {
	dir := t.TempDir()
	summary := filepath.Join(dir, "sub", "summary.md")
	r := invoke(t, []string{"GITHUB_ACTIONS=true", "GITHUB_SHA=abc", "GITHUB_REPOSITORY=o/r", "GITHUB_RUN_ID=7", "GITHUB_SERVER_URL=https://github.example"},
		"run", "eks", "-d", "helm,flux-oci", "--recipes-dir", "embedded", "--results", dir, "--summary", summary)
	r.want(t, 12, "TOOLCHAIN_MISSING")
	got, err := report.Read(filepath.Join(dir, report.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != 2 || got.Results[0].Status != result.NotRun || got.Results[0].Reason != reason.ToolchainMissing || got.Green() {
		t.Errorf("got %+v", got.Results)
	}
	if got.CI.Commit != "abc" || got.CI.URL != "https://github.example/o/r/actions/runs/7" {
		t.Errorf("got %+v", got.CI)
	}
	raw, err := os.ReadFile(filepath.Join(dir, report.FileName))
	if err != nil || !bytes.Contains(raw, []byte(`"kwok/setup/helm"`)) || !bytes.Contains(raw, []byte(`"kwok/setup/flux-oci"`)) {
		t.Errorf("want a setup entry per deployer (%v) in\n%s", err, raw)
	}
	text, err := os.ReadFile(summary)
	if err != nil || !bytes.Contains(text, []byte("TOOLCHAIN_MISSING (12)")) {
		t.Errorf("got %v and\n%s", err, text)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("temporary files are left: %q", left)
	}
}
