package action_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rhysd/actionlint"
	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action"
)

// TestWorkflows: actionlint finds nothing in .github/workflows, the inputs of `uses: ./` included.
func TestWorkflows(t *testing.T) { lintWorkflows(t, "") }

// lintWorkflows runs actionlint, and by it shellcheck if that has a path.
func lintWorkflows(t *testing.T, shellcheck string) {
	t.Helper()
	files, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{Shellcheck: shellcheck})
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

// TestTrust: nested actions are pinned by commit, with the version for people; no untrusted text is
// pasted into a script; a workflow has only permissions to read, except for the job that publishes
// a release.
func TestTrust(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	uses := regexp.MustCompile(`(?m)^ *(?:- )?uses: *(\S+)(.*)`)
	pinned := regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40}$`)
	// Publishing a release is all that needs more than reading; what builds it has no such rights.
	mayWrite := map[string]map[string]string{
		".github/workflows/release.yaml publish":     {"contents": "write", "id-token": "write", "attestations": "write"},
		".github/workflows/release.yaml check":       {"contents": "read", "actions": "read"},
		".github/workflows/release.yaml image":       {"contents": "read", "packages": "write"},
		".github/workflows/check-run.yaml check-run": {"contents": "read", "actions": "read", "checks": "write"},
		".github/workflows/upstream.yaml tell":       {"issues": "write"},
		".github/workflows/images-lock.yaml propose": {"contents": "write", "pull-requests": "write"}, // it has one file of the job that asks registries
		".github/workflows/comment.yaml comment":     {"contents": "read", "actions": "read", "pull-requests": "write"},
	}
	version := regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`)
	for _, file := range append(files, "action.yml", "setup/action.yml") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(raw), -1) {
			if m[1] != "./" && m[1] != "./.github/workflows/recipes.yaml" && !strings.HasPrefix(m[1], "./.aicr-action") && (!pinned.MatchString(m[1]) || !version.MatchString(m[2])) {
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
		if !strings.HasSuffix(file, "action.yml") && (len(doc.Permissions) != 1 || doc.Permissions["contents"] != "read") {
			t.Errorf("%s: permissions %v, want contents: read", file, doc.Permissions)
		}
		for _, s := range steps {
			// Inside of a container the path has another name, which only the variable
			// GITHUB_ACTION_PATH has.
			if strings.Contains(s.Run+fmt.Sprint(s.With, s.Env), "github.action_path") {
				t.Errorf("%s: step %q uses github.action_path, which is a path outside of a job's container", file, s.Name)
			}
			if strings.Contains(s.Run, "${{") {
				t.Errorf("%s: step %q has an expression in its script; give it an env", file, s.Name)
			}
		}
	}
}

// TestRuns: when our own workflows run. Pushes count on main only, a schedule in this repository
// only, and what a merge queue waits for runs for its merges. A run is cancelled only by a newer
// one of the same pull request.
func TestRuns(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w struct {
			On          map[string]any `json:"true"`
			Concurrency struct {
				Cancel any `json:"cancel-in-progress"`
			} `json:"concurrency"`
			Jobs map[string]struct {
				If string `json:"if"`
			} `json:"jobs"`
		}
		if err := yaml.Unmarshal(raw, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if push, ok := w.On["push"]; ok && fmt.Sprint(push) != "map[branches:[main]]" {
			t.Errorf("%s: on push: %v, want main only", file, push)
		}
		_, pull := w.On["pull_request"]
		if _, merge := w.On["merge_group"]; pull != merge {
			t.Errorf("%s: runs for pull requests: %v, for a merge queue: %v", file, pull, merge)
		}
		if c := w.Concurrency.Cancel; c != nil && c != "${{ github.event_name == 'pull_request' }}" {
			t.Errorf("%s: cancel-in-progress: %v", file, c)
		}
		if _, ok := w.On["schedule"]; !ok {
			continue
		}
		for name, job := range w.Jobs {
			r := &runner{t: t, known: map[string]string{"github.event_name": "schedule", "github.repository": "somebody/aicr-action"}}
			if r.holds(job.If) {
				t.Errorf("%s: job %s runs every night in a fork: if: %q", file, name, job.If)
			}
			r.known["github.repository"] = "NVIDIA/aicr-action"
			if !r.holds(job.If) {
				t.Errorf("%s: job %s does not run by its schedule: if: %q", file, name, job.If)
			}
		}
	}
}

// TestCI: our own CI runs every test in one of its jobs, and skips none because of a missing
// browser.
func TestCI(t *testing.T) {
	var ci struct {
		Jobs map[string]struct {
			Steps []step `json:"steps"`
		} `json:"jobs"`
	}
	for _, file := range []string{"ci.yaml", "nightly.yaml", "oracle.yaml"} { // the jobs of the others are added to those of the first
		raw, err := os.ReadFile(filepath.Join(".github", "workflows", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(raw, &ci); err != nil {
			t.Fatal(err)
		}
	}
	for job, test := range map[string]struct {
		run     string
		browser bool
	}{
		"unit": {"go test -short -count=1 ./...", true}, "stack": {"make test", true}, "race": {"make test-race", false}, "nightly": {"make test-nightly", false}, "oracle": {"make oracle", false},
	} {
		found := false
		for _, s := range ci.Jobs[job].Steps {
			found = found || s.Run == test.run && strings.Contains(s.Env["AICR_ACTION_TEST_BROWSER"], "required") == test.browser
		}
		if !found {
			t.Errorf("job %s has no step that runs %q (with a browser: %v)", job, test.run, test.browser)
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
	r := newRunner(t, map[string]string{"recipe": "eks"})
	if code, out := r.prepare(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if got := r.output("find.outputs.go"); semver.Compare("v"+got, "v"+settings.Go.Minimum) < 0 {
		t.Errorf("the action installs Go %q, but .settings.yaml asks for %s or newer", got, settings.Go.Minimum)
	}
}

// TestUploads: artifacts are uploaded for every end of the run, under names that no other job of
// the run has, and no upload makes a job fail.
func TestUploads(t *testing.T) {
	name := regexp.MustCompile(`^kwok-(results|debug)\$\{\{ steps.prepare.outputs.artifact \}\}$`)
	uploads := 0
	for _, s := range readAction(t).Runs.Steps {
		if !strings.HasPrefix(s.Uses, "actions/upload-artifact@") {
			continue
		}
		uploads++
		if !strings.HasPrefix(s.If, "always() && ") || !s.ContinueOnError {
			t.Errorf("%s: if: %q, continue-on-error: %v, want always() and true", s.Name, s.If, s.ContinueOnError)
		}
		if !name.MatchString(s.With["name"]) {
			t.Errorf("%s: name %q", s.Name, s.With["name"])
		}
	}
	if uploads != 2 {
		t.Errorf("uploads: got %d, want results and debug artifacts", uploads)
	}
}

// TestArtifactNames: jobs whose difference the action cannot see, and several uses in one job,
// upload under different names. An upload that fails nevertheless is a warning on a passing job.
func TestArtifactNames(t *testing.T) {
	r := newRunner(t, map[string]string{"recipe": "eks", "deployer": "helm"})
	steps := r.action.Runs.Steps
	r.action.Runs.Steps = slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return s.ID != "prepare" && !strings.Contains(s.Name, "pload") })
	green := func() (uploaded int, warnings []command) {
		t.Helper()
		var log strings.Builder
		for _, s := range r.action.Runs.Steps {
			if !r.holds(s.If) {
				continue
			}
			if s.Uses != "" {
				r.use(s)
				continue
			}
			cmd, out := r.startStep(s)
			if code := r.finish(s.ID, cmd); code != 0 {
				t.Fatalf("%s: exit code %d\n%s", s.Name, code, out)
			}
			log.WriteString(out.String())
			if s.ID == "prepare" {
				write(t, filepath.Join(r.output("prepare.outputs.results"), "junit.xml"), "x")
				write(t, filepath.Join(r.output("prepare.outputs.debug"), "summary.md"), "x")
			}
		}
		if r.failed {
			t.Error("the job failed")
		}
		all, err := os.ReadDir(r.file("artifacts"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all), commands(log.String())
	}
	for i, change := range []map[string]string{{}, {"strategy.job-index": "1"}, {"github.job": "other"}, {"github.run_attempt": "3"}, {}} {
		// Each is a separate job, except for the last one, which is the action's second use in the
		// job before it.
		if i < 4 {
			used, err := filepath.Glob(r.file("aicr-action-42-*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range used {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
		}
		maps.Copy(r.known, change)
		if uploaded, warnings := green(); uploaded != 2*(i+1) || len(warnings) > 0 {
			t.Errorf("job %d: %d artifacts, want %d; %+v", i, uploaded, 2*(i+1), warnings)
		}
	}
	if _, err := os.Stat(r.file("artifacts/kwok-results-eks-helm-recipes-0-42-2")); err != nil {
		t.Error(err)
	}
	// A name that is taken, or one that GitHub refuses.
	r.known["github.job"] = "a:b"
	if uploaded, warnings := green(); uploaded != 10 || len(warnings) != 1 || warnings[0].name != "warning" || warnings[0].properties != "title=Artifacts" {
		t.Errorf("an upload that fails: %d artifacts, commands %+v", uploaded, warnings)
	}
}

func TestPrepare(t *testing.T) {
	r := newRunner(t, map[string]string{"recipe": "eks-training,\neks", "deployer": "helm", "job-timeout-minutes": "20", "shard": "2/4", "id": "night"})
	before := time.Now().Unix()
	if code, out := r.prepare(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if late := r.deadline() - before - (20*60 - 240); late < 0 || late > 30 {
		t.Errorf("deadline: %d s after the step's start + 20 minutes - 240 s", late)
	}
	// What is in these is there for all later steps of the job: nothing but what tells a second use
	// that this directory is of this job.
	for file, want := range map[string]string{"env": "AICR_ACTION_HOME=" + r.file("aicr-action") + "\n", "path": ""} {
		if raw, err := os.ReadFile(r.file(file)); err != nil && !os.IsNotExist(err) || string(raw) != want {
			t.Errorf("the job's %s has %q, want %q", file, raw, want)
		}
	}
	if got := r.output("prepare.outputs.artifact"); got != ".night.eks-training--eks-helm-2-of-4-recipes-0-42-2" {
		t.Errorf("cell of the artifacts' names: %q", got)
	}
	for _, name := range []string{"results", "debug"} {
		if info, err := os.Stat(r.output("prepare.outputs." + name)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A stack that an earlier job left on the machine is in another directory: this one is empty at
	// the start of a job.
	if cache := r.output("find.outputs.cache"); cache != r.file("aicr-action/cache") {
		t.Errorf("the stack is in %s, want it in RUNNER_TEMP", cache)
	}
	if key := r.output("find.outputs.stack"); !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(key) {
		t.Errorf("cache key of the stack: %q", key)
	}
}

// deadline is the one that the step which runs the program has.
func (r *runner) deadline() int64 {
	r.t.Helper()
	epoch, err := strconv.ParseInt(r.fill(r.action.stepOf(r.t, "run").Env["KWOK_SYNC_DEADLINE_EPOCH"]), 10, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return epoch
}

// TestDeadline: it counts from the job's start, which is that of the runner's process for the job,
// where that can be seen.
func TestDeadline(t *testing.T) {
	const minutes = 100 * 60
	for name, test := range map[string]struct {
		ps   string // what ps prints for the parent of the step's shell
		age  int64
		says string
	}{
		"seconds":      {"1 00:07 Runner.Worker", 7, "started 7 s ago"},
		"minutes":      {"  1    08:09 /Users/runner/runners/2.0/bin/Runner.Worker", 489, "started 489 s ago"},
		"hours":        {"1 01:00:00 Runner.Worker", 3600, "started 3600 s ago"},
		"days":         {"1 1-02:03:04 Runner.Worker", 93784, "started 93784 s ago"},
		"no runner":    {"1 08:09 bash", 0, "not visible"},
		"no such ps":   {"", 0, "not visible"},
		"another form": {"1 soon Runner.Worker", 0, "not visible"},
		"a container":  {"0 08:09 tail", 0, "not visible"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, map[string]string{"job-timeout-minutes": "100"})
			write(t, r.file("tools/ps"), "#!/bin/sh\n[ -n '"+test.ps+"' ] || exit 1\necho '"+test.ps+"'\n")
			r.env = []string{"PATH=" + r.file("tools") + ":" + os.Getenv("PATH")}
			before := time.Now().Unix()
			code, out := r.prepare()
			if late := r.deadline() - before - (minutes - 240 - test.age); code != 0 || late < 0 || late > 30 || !strings.Contains(out, test.says) {
				t.Errorf("exit code %d, deadline %d s off, want %q in %s", code, late, test.says, out)
			}
		})
	}
	// A real process of that name, and a shell between it and the step.
	r := newRunner(t, map[string]string{"job-timeout-minutes": "100"})
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bash, r.file("Runner.Worker")); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Unix()
	prepare := r.action.stepOf(t, "prepare")
	prepare.Run = "./Runner.Worker -c 'sleep 3; bash -c \"bash -e -o pipefail -c \\\"\\$SCRIPT\\\"; exit \\$?\"; exit $?'"
	cmd, out := r.startStep(prepare, "SCRIPT="+r.action.stepOf(t, "prepare").Run)
	if code := r.finish("prepare", cmd); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if late := r.deadline() - before - (minutes - 240); late < -1 || late > 2 || !strings.Contains(out.String(), " s ago") {
		t.Errorf("deadline %d s off\n%s", late, out)
	}
}
