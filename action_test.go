package aicraction_test

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rhysd/actionlint"
	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"

	aicraction "github.com/nvidia/aicr-action"
)

// TestWorkflows: actionlint finds nothing in .github/workflows, the inputs of `uses: ./` included.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := linter.LintFiles(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		t.Errorf("%s:%d:%d: %s [%s]", e.Filepath, e.Line, e.Column, e.Message, e.Kind)
	}
}

// TestTrust: nested actions are pinned by commit, with the version for people; no text of somebody else's is pasted into a script; a
// workflow may read, and nothing else but for the job that publishes a release.
func TestTrust(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	uses := regexp.MustCompile(`(?m)^ *(?:- )?uses: *(\S+)(.*)`)
	pinned := regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40}$`)
	// Publishing a release is all that needs more than reading; what builds it has no such rights.
	mayWrite := map[string]map[string]string{".github/workflows/release.yaml publish": {"contents": "write", "id-token": "write", "attestations": "write"}}
	version := regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`)
	for _, file := range append(files, "action.yml") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(raw), -1) {
			if m[1] != "./" && (!pinned.MatchString(m[1]) || !version.MatchString(m[2])) {
				t.Errorf("%s: %q is not pinned by commit with its version in a comment", file, m[0])
			}
		}
		var doc struct {
			Permissions map[string]string `json:"permissions"`
			Jobs        map[string]struct {
				Permissions map[string]string `json:"permissions"`
				Steps       []step            `json:"steps"`
			} `json:"jobs"`
			Runs struct {
				Steps []step `json:"steps"`
			} `json:"runs"`
		}
		if err := yaml.Unmarshal(raw, &doc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		steps := doc.Runs.Steps
		for name, job := range doc.Jobs {
			steps = append(steps, job.Steps...)
			if job.Permissions != nil && !maps.Equal(job.Permissions, mayWrite[file+" "+name]) {
				t.Errorf("%s: job %s has permissions %v of its own", file, name, job.Permissions)
			}
		}
		if file != "action.yml" && (len(doc.Permissions) != 1 || doc.Permissions["contents"] != "read") {
			t.Errorf("%s: permissions %v, want contents: read", file, doc.Permissions)
		}
		for _, s := range steps {
			if strings.Contains(s.Run, "${{") {
				t.Errorf("%s: step %q has an expression in its script; give it an env", file, s.Name)
			}
		}
	}
}

// TestCI: our own CI runs every test somewhere, and none of them is skipped for want of a browser.
func TestCI(t *testing.T) {
	raw, err := os.ReadFile(".github/workflows/ci.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ci struct {
		Jobs map[string]struct {
			Steps []step `json:"steps"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal(raw, &ci); err != nil {
		t.Fatal(err)
	}
	for job, run := range map[string]string{"unit": "go test -short -count=1 ./...", "stack": "make test"} {
		found := false
		for _, s := range ci.Jobs[job].Steps {
			found = found || s.Run == run && strings.Contains(s.Env["AICR_ACTION_TEST_BROWSER"], "required")
		}
		if !found {
			t.Errorf("job %s has no step that runs %q with a browser", job, run)
		}
	}
}

// TestToolchain: the Go that the action installs is one that the harness lets compile the stack.
func TestToolchain(t *testing.T) {
	var settings struct {
		Go struct {
			Minimum string `json:"minimum"`
		} `json:"go"`
	}
	if err := yaml.Unmarshal(aicraction.Settings, &settings); err != nil {
		t.Fatal(err)
	}
	for _, s := range readAction(t).Runs.Steps {
		file, ok := strings.CutPrefix(s.With["go-version-file"], "${{ github.action_path }}/")
		if !ok {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(raw)
		if m == nil || semver.Compare("v"+string(m[1]), "v"+settings.Go.Minimum) < 0 {
			t.Errorf("%s asks for Go %s, but .settings.yaml for %s or newer", file, m[1], settings.Go.Minimum)
		}
		return
	}
	t.Error("no step sets up Go")
}

// TestUploads: artifacts get out however the run ends, under names with the attempt in them.
func TestUploads(t *testing.T) {
	uploads := 0
	for _, s := range readAction(t).Runs.Steps {
		if !strings.HasPrefix(s.Uses, "actions/upload-artifact@") {
			continue
		}
		uploads++
		if !strings.HasPrefix(s.If, "always() && ") {
			t.Errorf("%s: if: %q, want always()", s.Name, s.If)
		}
		if !regexp.MustCompile(`^kwok-(results|debug)-.*-\$\{\{ github.run_id \}\}-\$\{\{ github.run_attempt \}\}$`).MatchString(s.With["name"]) {
			t.Errorf("%s: name %q", s.Name, s.With["name"])
		}
	}
	if uploads != 2 {
		t.Errorf("uploads: got %d, want results and debug artifacts", uploads)
	}
}

func TestPrepare(t *testing.T) {
	r := newRunner(t, map[string]string{"recipe": "eks-training,\neks", "deployer": "helm", "job-timeout-minutes": "20", "shard": "2/4"})
	before := time.Now().Unix()
	if code, out := r.do("prepare"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	raw, err := os.ReadFile(r.file("env"))
	if err != nil {
		t.Fatal(err)
	}
	epoch, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(string(raw)), "KWOK_SYNC_DEADLINE_EPOCH="), 10, 64)
	if late := epoch - before - (20*60 - 240); err != nil || late < 0 || late > 30 {
		t.Errorf("%s: want the step's start + 20 minutes - 240 s (%v)", raw, err)
	}
	if got := r.output("prepare.outputs.cell"); got != "eks-training--eks-helm-2-of-4" {
		t.Errorf("cell of the artifacts' names: %q", got)
	}
	for _, name := range []string{"results", "debug"} {
		if info, err := os.Stat(r.output("prepare.outputs." + name)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if key := r.output("prepare.outputs.stack"); !regexp.MustCompile(`^[0-9a-f]{40}-[0-9a-f]{40}-$`).MatchString(key) {
		t.Errorf("cache key of the stack: %q", key)
	}
}
