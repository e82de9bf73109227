package reports

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

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
			c := CIFiles{Outputs: filepath.Join(dir, "out"), Annotations: filepath.Join(dir, "notes"), Recipes: []string{"recipes"}, Getenv: func(string) string { return dir }}
			if err := os.WriteFile(c.Outputs, []byte("mine=1"), 0o644); err != nil {
				t.Fatal(err)
			}
			if test.results != nil {
				if err := c.Write(&report.Report{Meta: report.Meta{Code: cli.CodeInReport}, Results: test.results}); err != nil {
					t.Fatal(err)
				}
				if got := testkit.StepOutputs(t, c.Outputs); got["conclusion"] != "failure" || got["exit-reason"] != "INTERNAL" || got["exit-code"] != "" || got["mine"] != "1" {
					t.Errorf("while it runs: %v", got)
				}
			}
			if err := c.End(test.err); test.err != nil && !errors.Is(err, test.err) {
				t.Errorf("the run's error became %v", err)
			}
			got := testkit.StepOutputs(t, c.Outputs)
			for _, want := range append(test.want, "mine=1", "failed-cells="+test.failed) {
				if name, value, _ := strings.Cut(want, "="); got[name] != value {
					t.Errorf("output %s: got %q, want %q", name, got[name], value)
				}
			}
			testkit.WantFile(t, c.Annotations, test.annotations...)
			raw, err := os.ReadFile(c.Annotations)
			if err != nil || strings.Count(string(raw), "\n") != len(test.annotations) {
				t.Errorf("want %d annotations (%v):\n%s", len(test.annotations), err, raw)
			}
		})
	}
}

// A report that cannot be written does not hide why the run failed.
func TestCIFiles_End(t *testing.T) {
	dir := t.TempDir()
	c := CIFiles{Outputs: dir, Getenv: func(string) string { return "" }, last: &report.Report{}}
	if err := c.End(nil); cli.CodeOf(err) != 19 || !strings.Contains(err.Error(), "outputs") {
		t.Errorf("green: got %v", err)
	}
	if err := c.End(reason.New(reason.DeployFailed, "refused")); cli.CodeOf(err) != 51 || !strings.Contains(err.Error(), "refused; also: ") {
		t.Errorf("red: got %v", err)
	}
}
