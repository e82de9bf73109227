package aicraction_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// action is the part of action.yml that is looked at and run here.
type action struct {
	Inputs map[string]struct {
		Description string `json:"description"`
		Default     string `json:"default"`
	} `json:"inputs"`
	Runs struct {
		Steps []step `json:"steps"`
	} `json:"runs"`
}

type step struct {
	Name string            `json:"name"`
	ID   string            `json:"id"`
	If   string            `json:"if"`
	Uses string            `json:"uses"`
	Run  string            `json:"run"`
	Env  map[string]string `json:"env"`
	With map[string]string `json:"with"`
}

func readAction(t *testing.T) action {
	t.Helper()
	return parseAction(t, "action.yml")
}

func (a action) step(t *testing.T, id string) step {
	t.Helper()
	for _, s := range a.Runs.Steps {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("action.yml has no step %q", id)
	return step{}
}

// runner is a simulated GitHub runner: its files, and what a step left in them.
type runner struct {
	t      *testing.T
	dir    string
	action action
	inputs map[string]string
	// outputs of earlier steps, by expression
	known map[string]string
	// env is what a step gets besides
	env []string
}

func newRunner(t *testing.T, inputs map[string]string) *runner {
	t.Helper()
	r := &runner{t: t, dir: t.TempDir(), action: readAction(t), inputs: inputs, known: map[string]string{}}
	for name, input := range r.action.Inputs {
		r.known["inputs."+name] = input.Default
	}
	for name, value := range inputs {
		if _, ok := r.action.Inputs[name]; !ok {
			t.Fatalf("action.yml has no input %q", name)
		}
		r.known["inputs."+name] = value
	}
	return r
}

// start starts a step as the runner does: bash, the step's env with its expressions filled in, files for outputs.
func (r *runner) start(id string) (*exec.Cmd, *strings.Builder) {
	r.t.Helper()
	s := r.action.step(r.t, id)
	top, err := filepath.Abs(".")
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", s.Run)
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "RUNNER_TEMP=" + r.dir, "GITHUB_ACTION_PATH=" + top, "GITHUB_RUN_ID=42", "GITHUB_RUN_ATTEMPT=2",
		"GITHUB_OUTPUT=" + r.file("output-"+id), "GITHUB_ENV=" + r.file("env"), "GITHUB_STEP_SUMMARY=" + r.file("summary"), "RUNNER_OS=Linux", "RUNNER_ARCH=X64"}
	cmd.Env = append(cmd.Env, r.env...)
	expression := regexp.MustCompile(`^\$\{\{ (\S+) \}\}$`)
	for name, value := range s.Env {
		m := expression.FindStringSubmatch(value)
		if !strings.Contains(value, "${{") {
			m, r.known["constant "+name] = []string{"", "constant " + name}, value
		}
		if m == nil {
			r.t.Fatalf("env %s of step %s is %q, want one expression", name, id, value)
		}
		filled, ok := r.known[m[1]]
		if !ok {
			r.t.Fatalf("env %s of step %s: nothing gives %s", name, id, m[1])
		}
		cmd.Env = append(cmd.Env, name+"="+filled)
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return cmd, &out
}

// finish gives the step's exit code, and keeps its outputs for the next steps.
func (r *runner) finish(id string, cmd *exec.Cmd) int {
	r.t.Helper()
	_ = cmd.Wait() // the code says it
	raw, err := os.ReadFile(r.file("output-" + id))
	if err != nil && cmd.ProcessState.Success() && strings.Contains(r.action.step(r.t, id).Run, "GITHUB_OUTPUT") {
		r.t.Fatalf("step %s wrote no outputs: %v", id, err)
	}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		r.known["steps."+id+".outputs."+name] = value
	}
	return cmd.ProcessState.ExitCode()
}

func (r *runner) do(id string) (int, string) {
	r.t.Helper()
	cmd, out := r.start(id)
	code := r.finish(id, cmd)
	return code, out.String()
}

func (r *runner) file(name string) string { return filepath.Join(r.dir, name) }

func (r *runner) output(name string) string { return r.known["steps."+name] }

// program puts a script where the action builds matrix: it writes its arguments, one a NUL-terminated string, and ends as told. What the
// program does with them is tested in cmd/matrix.
func (r *runner) program(end string) {
	r.t.Helper()
	script := "#!/bin/bash\nif [[ $1 == explain ]]; then echo \"exit code $2  NAME_OF_$2\"; exit; fi\nprintf '%s\\0' \"$@\" > " + r.file("args") + "\n" + end + "\n"
	if err := os.WriteFile(r.output("prepare.outputs.bin"), []byte(script), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

func (r *runner) args() []string {
	r.t.Helper()
	raw, err := os.ReadFile(r.file("args"))
	if err != nil {
		r.t.Fatalf("the program was not called: %v", err)
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
}
