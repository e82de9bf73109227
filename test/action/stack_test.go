package action_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// fiveLines is the whole of a user's workflow.
const fiveLines = `on: push
jobs:
  recipes:
    runs-on: ubuntu-24.04
    steps: [{uses: actions/checkout@v7}, {uses: nvidia/aicr-action@main, with: {recipe: eks, deployer: helm}}]
`

// newJob is a runner in front of the workflow's last step, with the recipes of this project checked
// out and the real stack in its cache.
func newJob(t *testing.T) *runner {
	t.Helper()
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := linter.Lint("five-lines.yaml", []byte(fiveLines), nil); err != nil || len(found) > 0 || strings.Count(fiveLines, "\n") != 5 {
		t.Fatalf("the workflow: %v, %v", found, err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []step `json:"steps"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(fiveLines), &workflow); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, workflow.Jobs["recipes"].Steps[1].With)
	if err := os.CopyFS(r.file("recipes"), os.DirFS("recipes")); err != nil {
		t.Fatal(err)
	}
	paths := infratest.Cache(t)
	infratest.Slots(t, 1)
	prefix := fmt.Sprintf("test-action-%d", time.Now().UnixNano())
	r.env = []string{"AICR_ACTION_CACHE=" + paths.Root, "AICR_ACTION_CACHE_TRUSTED=true", "KWOK_CLUSTER=" + prefix, "KWOK_SCHEDULING_TIMEOUT=400"} // a slow machine is not what this is about
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS"} {                                                                 // HOME is the test's
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatalf("go env %s: %v", name, err)
		}
		r.env = append(r.env, name+"="+strings.TrimSpace(string(value)))
	}
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(paths.Clusters(), prefix+"*")); len(left) > 0 {
			t.Errorf("clusters are left: %q", left)
		}
	})
	return r
}

// artifact is a file of an uploaded artifact; kind is results or debug.
func (r *runner) artifact(kind, name string) string {
	return filepath.Join("artifacts", "kwok-"+kind+"-eks-helm-recipes-0-42-2", name)
}

// statuses are those of the results that were uploaded.
func (r *runner) statuses() string {
	r.t.Helper()
	var report struct {
		Results struct {
			Tests []struct{ Name, RawStatus string } `json:"tests"`
		} `json:"results"`
	}
	if err := json.Unmarshal([]byte(r.read(r.artifact("results", "kwok-results.json"))), &report); err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, test := range report.Results.Tests {
		all = append(all, test.Name+" "+test.RawStatus)
	}
	return strings.Join(all, ", ")
}

// wantReports checks the files that every run leaves: the results in all forms, the summary, and
// the annotations in the log.
func (r *runner) wantReports(log, status, summary string, annotations ...command) {
	r.t.Helper()
	if got := r.statuses(); got != "kwok/eks/helm "+status {
		r.t.Errorf("results: got %q, want kwok/eks/helm to be %s", got, status)
	}
	for file, part := range map[string]string{r.artifact("results", "junit.xml"): `name="kwok/eks/helm"`, r.artifact("results", "report.html"): "<!doctype html>", "summary-run": summary} {
		if text := r.read(file); !strings.Contains(text, part) {
			r.t.Errorf("%s lacks %q:\n%.3000s", file, part, text)
		}
	}
	all := commands(log)
	if len(all) != len(annotations)+1 || all[0].name != "stop-commands" {
		r.t.Fatalf("commands in the log: %+v, want the annotations %+v\n%s", all, annotations, log)
	}
	for i, want := range annotations {
		if got := all[i+1]; got.name != want.name || got.properties != want.properties || !strings.Contains(got.message, want.message) {
			r.t.Errorf("annotation: got %+v, want %+v", got, want)
		}
	}
	if r.t.Failed() {
		r.t.Logf("the log:\n%s", log)
	}
}

// TestFiveLines: a workflow of five lines on the real stack, for a passing run, a failed one and an
// interrupted one.
func TestFiveLines(t *testing.T) {
	t.Parallel()
	testskip.Short(t, "no real stack")
	t.Run("green", func(t *testing.T) {
		t.Parallel()
		r := newJob(t)
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
			r.env = append(r.env, name+"=http://127.0.0.1:1") // all that a cell needs is on this machine, and so behind no proxy
		}
		log := r.act(nil)
		r.wantReports(log, "passed", "## ✓ AICR matrix: 1 cell: 1 passed")
		r.want("conclusion=success", "exit-code=0", "exit-reason=OK", "total=1", "passed=1", "failed=0", "skipped=0", "not-run=0", "failed-cells=[]")
		if report := r.result("report-path"); r.failed || report != filepath.Join(r.result("results-path"), "report.html") {
			t.Errorf("failed: %v, report-path %q", r.failed, report)
		}
	})
	t.Run("red", func(t *testing.T) {
		t.Parallel()
		r := newJob(t)
		values := r.file("recipes/components/cert-manager/values.yaml")
		text := strings.TrimRight(r.read("recipes/components/cert-manager/values.yaml"), "\n") + "\nnodeSelector: {disktype: ssd}\n"
		if err := os.WriteFile(values, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		log := r.act(nil)
		place := fmt.Sprintf("file=recipes/components/cert-manager/values.yaml,line=%d,title=SCHEDULING_FAILED (1) in 1 cell", strings.Count(text, "\n"))
		r.wantReports(log, "failed", "#### 1. `SCHEDULING_FAILED (1)` in 1 cell", command{"error", place, "0/6 nodes are available"})
		r.want("conclusion=failure", "exit-code=1", "exit-reason=SCHEDULING_FAILED", "total=1", "passed=0", "failed=1", "not-run=0",
			`failed-cells=[{"recipe":"eks","deployer":"helm","reason":"SCHEDULING_FAILED","code":1}]`)
		if found := r.debugFiles(); !strings.Contains(found, "summary.md") {
			t.Errorf("the debug artifact has no summary.md: %q", found)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		r := newJob(t)
		log := r.act(func(id string, cmd *exec.Cmd, out *testkit.Log) {
			if id != "run" {
				return
			}
			err := wait.For(t.Context(), "the cell to have a cluster", wait.Options{Budget: 10 * time.Minute, Interval: 50 * time.Millisecond}, func(context.Context) wait.Result {
				if !strings.Contains(out.String(), "Starting the cluster") {
					return wait.NotYet("%s", out)
				}
				return wait.Done()
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} { // a cancelled job's
				if err := cmd.Process.Signal(s); err != nil {
					t.Error(err)
				}
			}
		})
		r.wantReports(log, "interrupted", "interrupted** `eks/helm`", command{"error", "title=INTERRUPTED%3A 1 cell without a verdict", "interrupted by terminated%0Acells: eks/helm"})
		r.want("conclusion=failure", "exit-code=143", "exit-reason=INTERRUPTED", "total=1", "passed=0", "failed=0", "not-run=1", "failed-cells=[]")
		if found := r.debugFiles(); found == "" {
			t.Error("no debug artifact was uploaded")
		}
	})
}

// debugFiles are the names of the files in the debug artifact.
func (r *runner) debugFiles() string {
	r.t.Helper()
	var names []string
	err := filepath.WalkDir(r.file(r.artifact("debug", "")), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, filepath.Base(path))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	return strings.Join(names, " ")
}
