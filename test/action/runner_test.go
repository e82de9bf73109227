package action_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// action is the part of action.yml that is looked at and run here.
type action struct {
	Inputs map[string]struct {
		Description string `json:"description"`
		Default     string `json:"default"`
	} `json:"inputs"`
	Outputs map[string]struct {
		Value string `json:"value"`
	} `json:"outputs"`
	Runs struct {
		Steps []step `json:"steps"`
	} `json:"runs"`
}

type step struct {
	Name            string            `json:"name"`
	ID              string            `json:"id"`
	If              string            `json:"if"`
	Uses            string            `json:"uses"`
	Run             string            `json:"run"`
	Env             map[string]string `json:"env"`
	With            map[string]string `json:"with"`
	ContinueOnError bool              `json:"continue-on-error"`
}

func readAction(t *testing.T) action {
	t.Helper()
	return parseAction(t, "action.yml")
}

func (a action) stepOf(t *testing.T, id string) step {
	t.Helper()
	for _, s := range a.Runs.Steps {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("action.yml has no step %q", id)
	return step{}
}

// runner is a simulated GitHub runner: its files, and what the steps left in them.
type runner struct {
	t      *testing.T
	dir    string // the workspace, and where everything else is
	action action
	env    []string // further environment of the steps
	// known are the values of contexts, by expression; failed: a step has.
	known  map[string]string
	failed bool
	// inside is the action's path for its steps, where that is not github.action_path: in a job
	// with a container.
	inside string
	// server is what the jobs of a workflow run share; nil for a job alone, whose cache is empty.
	server *server
}

func newRunner(t *testing.T, inputs map[string]string) *runner {
	t.Helper()
	r := &runner{t: t, dir: t.TempDir(), action: readAction(t), known: map[string]string{"github.run_id": "42", "github.run_attempt": "2", "github.job": "recipes", "strategy.job-index": "0", "runner.os": "Linux", "runner.arch": "X64"}}
	top, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	r.known["github.action_path"] = top
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

// start starts a step as the runner does: bash, the step's env with its expressions filled in,
// files for outputs.
func (r *runner) start(id string) (*exec.Cmd, *testkit.Log) {
	r.t.Helper()
	return r.startStep(r.action.stepOf(r.t, id))
}

func (r *runner) startStep(s step, env ...string) (*exec.Cmd, *testkit.Log) {
	r.t.Helper()
	script := r.file("script-" + s.ID + ".sh") // and not -c, with which bash puts the last command in its own place
	if err := os.WriteFile(script, []byte(s.Run), 0o644); err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
	cmd.Dir = r.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "RUNNER_TEMP=" + r.dir, "GITHUB_ACTIONS=true", "GITHUB_WORKSPACE=" + r.dir, "GITHUB_RUN_ID=42",
		"GITHUB_RUN_ATTEMPT=2", "GITHUB_ACTION_PATH=" + cmp.Or(r.inside, r.known["github.action_path"]), "GITHUB_OUTPUT=" + r.file("output-"+s.ID), "GITHUB_ENV=" + r.file("env"),
		"GITHUB_PATH=" + r.file("path"), "GITHUB_STEP_SUMMARY=" + r.file("summary-"+s.ID), "RUNNER_OS=" + r.known["runner.os"], "RUNNER_ARCH=" + r.known["runner.arch"]}, r.env...)
	if r.server != nil && r.server.temp != "" {
		cmd.Env = append(cmd.Env, "RUNNER_TEMP="+r.server.temp)
	}
	cmd.Env = append(append(cmd.Env, r.jobEnv()...), env...)
	for _, one := range cmd.Env { // the last one counts
		if path, ok := strings.CutPrefix(one, "PATH="); ok && r.path() != "" {
			cmd.Env = append(cmd.Env, "PATH="+r.path()+path)
		}
	}
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+r.fill(value))
	}
	out := &testkit.Log{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := os.WriteFile(r.file("output-"+s.ID), nil, 0o644); err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return cmd, out
}

// path is what earlier steps have put into GITHUB_PATH, the latest first, each with a colon behind
// it.
func (r *runner) path() string {
	r.t.Helper()
	raw, err := os.ReadFile(r.file("path"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	path := ""
	for line := range strings.Lines(string(raw)) {
		path = strings.TrimSpace(line) + ":" + path
	}
	return path
}

// jobEnv is what earlier steps have put into GITHUB_ENV.
func (r *runner) jobEnv() []string {
	r.t.Helper()
	raw, err := os.ReadFile(r.file("env"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	var env []string
	for name, value := range r.parse(string(raw)) {
		env = append(env, name+"="+value)
	}
	return env
}

// finish gives the step's exit code, and keeps its outputs for the next steps.
func (r *runner) finish(id string, cmd *exec.Cmd) int {
	r.t.Helper()
	_ = cmd.Wait() // the code says it
	raw, err := os.ReadFile(r.file("output-" + id))
	if err != nil {
		r.t.Fatalf("the outputs of step %s: %v", id, err)
	}
	for name, value := range r.parse(string(raw)) {
		r.known["steps."+id+".outputs."+name] = value
	}
	r.known["steps."+id+".outcome"] = "success"
	if !cmd.ProcessState.Success() {
		r.known["steps."+id+".outcome"], r.failed = "failure", true
	}
	return cmd.ProcessState.ExitCode()
}

// parse reads a file of GITHUB_OUTPUT's form, as strictly as a runner.
func (r *runner) parse(text string) map[string]string {
	r.t.Helper()
	values := map[string]string{}
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		equals, heredoc := strings.Index(line, "="), strings.Index(line, "<<")
		switch {
		case line == "":
		case heredoc >= 0 && (equals < 0 || heredoc < equals):
			name, end := line[:heredoc], line[heredoc+2:]
			value, rest, ok := strings.Cut("\n"+text, "\n"+end+"\n")
			if !ok || name == "" || len(end) < 20 {
				r.t.Fatalf("invalid value: no end %q behind %q", end, name)
			}
			values[name], text = strings.TrimPrefix(value, "\n"), rest
		case equals > 0:
			values[line[:equals]] = line[equals+1:]
		default:
			r.t.Fatalf("invalid format %q", line)
		}
	}
	return values
}

func (r *runner) do(id string) (int, string) {
	r.t.Helper()
	cmd, out := r.start(id)
	code := r.finish(id, cmd)
	return code, out.String()
}

// prepare runs the steps before the first one that uses another action: the inputs are checked, and
// it is known which matrix it will be.
func (r *runner) prepare() (code int, log string) {
	r.t.Helper()
	for _, s := range r.action.Runs.Steps {
		if s.Uses != "" {
			break
		}
		var out string
		code, out = r.do(s.ID)
		if log += out; code != 0 {
			break
		}
	}
	return code, log
}

func (r *runner) file(name string) string { return filepath.Join(r.dir, name) }

func (r *runner) read(name string) string {
	r.t.Helper()
	raw, err := os.ReadFile(r.file(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(raw)
}

func (r *runner) output(name string) string { return r.known["steps."+name] }

// result is an output of the action.
func (r *runner) result(name string) string {
	r.t.Helper()
	o, ok := r.action.Outputs[name]
	if !ok {
		r.t.Fatalf("action.yml has no output %q", name)
	}
	return r.fill(o.Value)
}

// want compares outputs of the action: name=value each.
func (r *runner) want(all ...string) {
	r.t.Helper()
	for _, want := range all {
		name, value, _ := strings.Cut(want, "=")
		if got := r.result(name); got != value {
			r.t.Errorf("output %s: got %q, want %q", name, got, value)
		}
	}
}

// act runs the whole action as a step of a job, and gives its log. During is called with each
// script that runs.
func (r *runner) act(during func(id string, cmd *exec.Cmd, out *testkit.Log)) string {
	r.t.Helper()
	var all strings.Builder
	for i, s := range r.action.Runs.Steps {
		if s.ID == "" {
			s.ID = "step-" + strconv.Itoa(i)
		}
		if !r.holds(s.If) {
			continue
		}
		if s.Uses != "" {
			r.use(s)
			continue
		}
		cmd, out := r.startStep(s)
		if during != nil {
			during(s.ID, cmd, out)
		}
		code := r.finish(s.ID, cmd)
		fmt.Fprintf(&all, "%s\n%s: exit code %d\n", out, s.Name, code)
	}
	return all.String()
}

// use simulates the actions that action.yml uses. It keeps uploads by name, and a name that is
// taken is an error. A toolchain is installed, and no cache has an entry.
func (r *runner) use(s step) {
	r.t.Helper()
	name, _, _ := strings.Cut(s.Uses, "@")
	if r.server != nil {
		r.server.use(r, s, name)
		return
	}
	switch name {
	case "actions/upload-artifact":
		from := r.fill(s.With["path"])
		if from == "" {
			r.t.Errorf("%s: an upload without a path, which is an error of its own", s.Name)
		}
		if entries, err := os.ReadDir(from); err != nil || len(entries) == 0 {
			return // if-no-files-found: ignore
		}
		r.known["steps."+s.ID+".outcome"] = "success"
		name := r.fill(s.With["name"])
		if _, err := os.Stat(r.file("artifacts/" + name)); err == nil || regexp.MustCompile(`["<>|*?:/\\\r\n]`).MatchString(name) {
			r.known["steps."+s.ID+".outcome"] = "failure"
			r.failed = r.failed || !s.ContinueOnError
			return
		}
		if err := os.CopyFS(r.file("artifacts/"+name), os.DirFS(from)); err != nil {
			r.t.Fatalf("upload %s: %v", from, err)
		}
	case "actions/setup-go", "actions/cache", "actions/cache/restore", "actions/cache/save":
		r.known["steps."+s.ID+".outcome"] = "success"
	default:
		r.t.Fatalf("the simulated runner does not know %s", s.Uses)
	}
}

// program writes a script to the path at which the action builds matrix. The script writes its
// arguments as NUL-terminated strings, prints them, and ends with the given commands. Tests in
// cmd/matrix check what the real program does with them.
func (r *runner) program(end string) {
	r.t.Helper()
	script := "#!/bin/bash\nprintf '%s\\0' \"$@\" > " + r.file("args") + "\nprintf '%s\\n' \"$@\"\nsay() { printf '%s\\n' \"$@\" > \"$GITHUB_OUTPUT\"; }\n" + end + "\n"
	if err := os.WriteFile(r.output("find.outputs.bin"), []byte(script), 0o755); err != nil {
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
