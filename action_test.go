package aicraction_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// hostile is what somebody might put into an input; each would leave the file owned if a shell read it.
func hostile() []string {
	return []string{"$(touch owned)", "`touch owned`", "a; touch owned", "a\ntouch owned", "\"; touch owned; \"", "'; touch owned; '", "${IFS}&touch owned", "a[$(touch owned)]",
		strings.Repeat("x", 10000), "--keep", "x\n::set-output name=a::b"}
}

// TestHostileInputs: an input that has a form is refused by name; one that is free text is one argument, and nothing is executed.
func TestHostileInputs(t *testing.T) {
	free := []string{"recipe", "deployer", "recipes-dir", "charts", "args"}
	for name := range readAction(t).Inputs {
		for i, value := range hostile() {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				t.Parallel()
				r := newRunner(t, map[string]string{name: value})
				code, out := r.do("prepare")
				if slices.Contains(free, name) {
					if code != 0 {
						t.Fatalf("exit code %d\n%s", code, out)
					}
					r.program("exit 0")
					if code, out = r.do("run"); code != 0 {
						t.Fatalf("exit code %d\n%s", code, out)
					}
					whole := slices.ContainsFunc(r.args(), func(arg string) bool { return strings.HasSuffix(arg, value) })
					if name != "args" && !whole || name == "args" && !slices.Contains(r.args(), strings.Split(value, "\n")[0]) {
						t.Errorf("the value did not reach the program as it is: %.300q", r.args())
					}
					if flag := slices.Index(r.args(), "--keep"); name != "args" && flag >= 0 && flag < slices.Index(r.args(), "--") {
						t.Errorf("the value became a flag: %q", r.args())
					}
				} else if code != 2 || !strings.Contains(out, "Input "+name) || len(out) > 500 {
					t.Errorf("exit code %d, want 2 and the input's name:\n%.500s", code, out)
				}
				if strings.Contains(out, "\n::set-output") {
					t.Errorf("the value got into the log as a command")
				}
				for _, dir := range []string{r.dir, "."} {
					if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
						t.Fatalf("%q was executed", value)
					}
				}
			})
		}
	}
}

// TestRun: a green, a red, a broken and an interrupted run, each with its outputs and exit code.
func TestRun(t *testing.T) {
	for _, test := range []struct {
		name, end, conclusion, reason string
		code                          int
		signal                        bool
	}{
		{"green", "exit 0", "success", "OK", 0, false},
		{"red", "exit 51", "failure", "NAME_OF_51", 51, false},
		{"killed", "kill -KILL $$", "failure", "INTERRUPTED", 137, false},
		// Two signals within a moment, as a cancelled job gets them; the program needs its time after the first.
		{"interrupted", "trap 'echo TERM >> signals' TERM; touch ready; for ((i = 0; i < 20; )); do sleep 0.05; [[ ! -e signals ]] || ((++i)); done; exit 143", "failure", "INTERRUPTED", 143, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, map[string]string{"recipe": "eks", "args": "--keep\n\n--verbose", "html-report": "false"})
			if code, out := r.do("prepare"); code != 0 {
				t.Fatalf("prepare: exit code %d\n%s", code, out)
			}
			r.program(test.end)
			cmd, out := r.start("run")
			if test.signal {
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
					if _, err := os.Stat(r.file("ready")); err == nil {
						break
					}
				}
				_ = cmd.Process.Signal(syscall.SIGINT)
				time.Sleep(100 * time.Millisecond) // between the runner's signals; too short a time would only make the test easier
				_ = cmd.Process.Signal(syscall.SIGTERM)
			}
			if code := r.finish("run", cmd); code != test.code {
				t.Errorf("exit code %d, want %d\n%s", code, test.code, out)
			}
			if signals, err := os.ReadFile(r.file("signals")); test.signal && string(signals) != "TERM\n" {
				t.Errorf("the program got %q (%v), want one signal", signals, err)
			}
			for name, want := range map[string]string{"conclusion": test.conclusion, "exit-code": strconv.Itoa(test.code), "exit-reason": test.reason} {
				if got := r.output("run.outputs." + name); got != want {
					t.Errorf("output %s: got %q, want %q", name, got, want)
				}
			}
			results, debug := r.output("prepare.outputs.results"), r.output("prepare.outputs.debug")
			want := []string{"run", "--deployer=all", "--charts=simulated", "--max-strikes=3", "--parallel=0", "--results=" + results, "--artifacts=" + debug,
				"--summary=" + r.file("summary"), "--junit=" + results + "/junit.xml", "--keep", "--verbose", "--", "eks"}
			if got := r.args(); !slices.Equal(got, want) {
				t.Errorf("arguments:\ngot  %q\nwant %q", got, want)
			}
		})
	}
}
