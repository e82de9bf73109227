package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// outputsOf reads a file of step outputs; of a name that is there twice, the last value counts.
func outputsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for text := string(raw); text != ""; {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if name, end, heredoc := strings.Cut(line, "<<"); heredoc {
			value, rest, ok := strings.Cut(text, "\n"+end+"\n")
			if !ok {
				t.Fatalf("no end of %s in\n%s", name, raw)
			}
			got[name], text = value, rest
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}
	return got
}

// wantFile fails unless a file has every part.
func wantFile(t *testing.T, file string, parts ...string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, file, string(raw), parts...)
}

// For every end of a run: its outputs report it, a failed run has an annotation, and the text of
// earlier steps in the file stays.
func TestCIFiles(t *testing.T) {
	cell := func(d string, status result.Status, why reason.Reason) result.Result {
		return result.Result{Cell: result.Cell{Recipe: "eks", Deployer: d}, Verdict: result.Verdict{Status: status, Reason: why, Cause: "because of " + d}, Rerun: "again"}
	}
	passed := cell("helm", result.Passed, "")
	failed := []result.Result{passed, cell("argocd-oci", result.Timeout, reason.SyncTimeout), cell("argocd-helm-oci", result.Infrastructure, reason.ComponentDied), cell("flux-oci", result.NotRun, reason.JobDeadline)}
	for name, test := range map[string]struct {
		results     []result.Result // nil: the run never had cells
		err         error
		want        []string
		failed      string
		annotations []string
	}{
		"green": {[]result.Result{passed, cell("flux-oci", result.Skipped, reason.NoProfile)}, nil,
			[]string{"conclusion=success", "exit-code=0", "exit-reason=OK", "total=2", "passed=1", "failed=0", "skipped=1", "not-run=0"}, "[]", nil},
		"red": {failed, &cli.Reported{Err: reason.New(reason.ComponentDied, "died")},
			[]string{"conclusion=failure", "exit-code=14", "exit-reason=COMPONENT_DIED", "total=4", "passed=1", "failed=2", "skipped=0", "not-run=1"},
			`[{"recipe":"eks","deployer":"argocd-oci","reason":"SYNC_TIMEOUT","code":50},{"recipe":"eks","deployer":"argocd-helm-oci","reason":"COMPONENT_DIED","code":14}]`,
			[]string{"::error title=COMPONENT_DIED (14) in 1 cell::because of argocd-helm-oci", "::error title=SYNC_TIMEOUT (50) in 1 cell::", "::error title=JOB_DEADLINE (55)%3A 1 cell without a verdict::because of flux-oci"}},
		"interrupted": {[]result.Result{passed, cell("flux-oci", result.Interrupted, reason.Interrupted)}, &cli.Reported{Err: &cli.Interrupt{Signal: syscall.SIGTERM}},
			[]string{"conclusion=failure", "exit-code=143", "exit-reason=INTERRUPTED", "total=2", "passed=1", "not-run=1"}, "[]", []string{"::error title=INTERRUPTED%3A 1 cell without a verdict::because of flux-oci"}},
		"refused": {nil, cli.Usagef("no such\n::error::recipe"),
			[]string{"conclusion=failure", "exit-code=2", "exit-reason=USAGE", "total=0", "not-run=0"}, "[]", []string{"::error title=USAGE (2)::no such%0A::error::recipe"}},
		"nothing was asked for": {nil, nil, []string{"conclusion=failure", "exit-code=2", "exit-reason=USAGE", "total=0"}, "[]", []string{"::error title=USAGE (2)::no cell was run"}},
		"a recipe's line":       {nil, cli.WrapUsage(&recipe.FileError{File: "recipes/overlays/eks.yaml", Line: 7, Err: errors.New("malformed")}), []string{"exit-code=2"}, "[]", []string{"::error file=recipes/overlays/eks.yaml,line=7,title=USAGE (2)::recipes/overlays/eks.yaml:7: malformed"}},
		"reports that cannot be written": {[]result.Result{passed}, reason.New(reason.Internal, "write the results"), []string{"conclusion=failure", "exit-code=19", "passed=1"}, "[]",
			[]string{"::error title=INTERNAL (19)::write the results"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			c := ciFiles{outputs: filepath.Join(dir, "out"), annotations: filepath.Join(dir, "notes"), recipes: []string{"recipes"}, getenv: func(string) string { return dir }}
			if err := os.WriteFile(c.outputs, []byte("mine=1"), 0o644); err != nil {
				t.Fatal(err)
			}
			if test.results != nil {
				if err := c.write(&report.Report{Meta: report.Meta{Code: cli.CodeInReport}, Results: test.results}); err != nil {
					t.Fatal(err)
				}
				if got := outputsOf(t, c.outputs); got["conclusion"] != "failure" || got["exit-reason"] != "INTERNAL" || got["exit-code"] != "" || got["mine"] != "1" {
					t.Errorf("while it runs: %v", got)
				}
			}
			if err := c.end(test.err); test.err != nil && !errors.Is(err, test.err) {
				t.Errorf("the run's error became %v", err)
			}
			got := outputsOf(t, c.outputs)
			for _, want := range append(test.want, "mine=1", "failed-cells="+test.failed) {
				if name, value, _ := strings.Cut(want, "="); got[name] != value {
					t.Errorf("output %s: got %q, want %q", name, got[name], value)
				}
			}
			wantFile(t, c.annotations, test.annotations...)
			raw, err := os.ReadFile(c.annotations)
			if err != nil || strings.Count(string(raw), "\n") != len(test.annotations) {
				t.Errorf("want %d annotations (%v):\n%s", len(test.annotations), err, raw)
			}
		})
	}
}

// The files are there before the first cell and after each one, as the other reports are.
func TestCIFiles_WrittenAfterEachCell(t *testing.T) {
	dir := t.TempDir()
	a := &app{App: cli.App{Getenv: func(string) string { return "" }}}
	a.ci = ciFiles{outputs: filepath.Join(dir, "out"), annotations: filepath.Join(dir, "notes"), getenv: a.Getenv}
	runner := &matrix.Runner{Platform: &embedded.Platform{Stack: &stack.Stack{}}, Inputs: matrix.Inputs{Charts: catalog.FromFS(fstest.MapFS{}, "none")}, Rerun: func(c result.Cell) string { return c.String() }}
	plans := []matrix.Plan{{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}}, {Cell: result.Cell{Recipe: "eks", Deployer: "flux-oci"}}}
	out, err := a.openReports(t.Context(), runFlags{reports: reportFlags{progress: "text"}}, &prepared{runner: runner, plans: plans})
	if err != nil {
		t.Fatal(err)
	}
	if got := outputsOf(t, a.ci.outputs); got["total"] != "2" || got["not-run"] != "2" {
		t.Errorf("before the first cell: %v", got)
	}
	wantFile(t, a.ci.annotations, "INTERRUPTED%3A 2 cells without a verdict::the run had not come to this cell")
	failed := result.Result{Cell: plans[0].Cell, Verdict: result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Cause: "refused"}}
	runner.OnResult([]result.Result{failed, runner.NotRun(plans[1].Cell, result.Verdict{Status: result.NotRun, Reason: reason.Interrupted, Cause: "not yet"})})
	if got := outputsOf(t, a.ci.outputs); got["failed"] != "1" || got["not-run"] != "1" || !strings.Contains(got["failed-cells"], `"code":51`) {
		t.Errorf("after the first cell: %v", got)
	}
	wantFile(t, a.ci.annotations, "::error title=DEPLOY_FAILED (51) in 1 cell::refused")
	other := result.Result{Cell: plans[1].Cell, Verdict: result.Verdict{Status: result.Passed}}
	if err := a.ci.end(out.close([]result.Result{failed, other}, &cli.Reported{Err: reason.New(reason.DeployFailed, "refused")})); cli.CodeOf(err) != 51 {
		t.Errorf("got %v", err)
	}
	if got := outputsOf(t, a.ci.outputs); got["passed"] != "1" || got["exit-code"] != "51" {
		t.Errorf("at the end: %v", got)
	}
}

// Outputs that cannot be written make a passing run fail, never hide why a run failed, and are
// reported once.
func TestCIFiles_WriteError(t *testing.T) {
	dir := t.TempDir()
	invoke(t, nil, "run", "eks", "-d", "helm", "--outputs", dir).want(t, 2, "outputs", dir)
	invoke(t, nil, "run", "eks", "-d", "helm", "--annotations", dir).want(t, 2, "write the annotations to "+dir)
	if r := invoke(t, nil, "run", "eks", "-d", "helm", "--annotations", dir); strings.Count(r.stderr, "write the annotations") != 1 {
		t.Errorf("said more than once: %s", r.stderr)
	}
	c := ciFiles{outputs: dir, getenv: func(string) string { return "" }, last: &report.Report{}}
	if err := c.end(nil); cli.CodeOf(err) != 19 || !strings.Contains(err.Error(), "outputs") {
		t.Errorf("green: got %v", err)
	}
	if err := c.end(reason.New(reason.DeployFailed, "refused")); cli.CodeOf(err) != 51 || !strings.Contains(err.Error(), "refused; also: ") {
		t.Errorf("red: got %v", err)
	}
}

// A mistake among the flags is known before the reports are opened; the outputs have it all the
// same.
func TestOutputs_UsageError(t *testing.T) {
	for name, args := range map[string][]string{
		"flag": {"--nonsense"}, "recipe": {"nonsense"}, "help": {"--help"}, "settings": {"eks", "--settings", "absent"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "out")
			r := invoke(t, nil, append([]string{"run", "--outputs", file}, args...)...)
			want := map[bool]string{true: "10", false: "2"}[name == "settings"]
			if got := outputsOf(t, file); r.code == 0 || got["conclusion"] != "failure" || got["exit-code"] != want || got["total"] != "0" {
				t.Errorf("code %d, outputs %v", r.code, got)
			}
		})
	}
}
