package action_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// workflow is the part of a workflow file that a stand-in for GitHub's server runs here.
type workflow struct {
	On   json.RawMessage `json:"true"` // on, which YAML 1.1 takes for a truth value; a word, a list or an object
	Jobs map[string]job  `json:"jobs"`
}

type job struct {
	Uses     string            `json:"uses"` // a reusable workflow
	With     map[string]any    `json:"with"`
	Needs    any               `json:"needs"`
	If       string            `json:"if"`
	Outputs  map[string]string `json:"outputs"`
	Strategy struct {
		Matrix any `json:"matrix"`
	} `json:"strategy"`
	Steps []struct {
		step
		With map[string]any `json:"with"`
	} `json:"steps"`
}

// inputs are those that callers of a reusable workflow give, and their defaults.
func (w workflow) inputs(t *testing.T) map[string]string {
	t.Helper()
	var on struct {
		Call struct {
			Inputs map[string]struct {
				Default any `json:"default"`
			} `json:"inputs"`
		} `json:"workflow_call"`
	}
	if err := json.Unmarshal(w.On, &on); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name, input := range on.Call.Inputs {
		all[name] = fmt.Sprint(input.Default)
	}
	return all
}

// server stands in for GitHub's: it starts the jobs of a workflow in their order, and keeps what
// they share. Steps are run by the simulated runner.
type server struct {
	t         *testing.T
	dir       string            // artifacts/, caches/
	known     map[string]string // contexts of the run
	env       []string          // of every step
	checkout  string            // what actions/checkout finds
	action    string            // this repository, or as much of it as the action needs
	only      string            // the entry of a matrix that is written down
	temp      string            // RUNNER_TEMP of the jobs; empty for the workspace
	left      func(dir string)  // puts what an earlier job left on the machine into a job's workspace; nil for nothing
	container bool              // jobs are in one: paths in contexts are those outside of it, and the checkout is of another user
	caches    []string          // keys, the oldest first
	results   map[string]string // of jobs
	log       strings.Builder
	cancel    func(job string, values map[string]string) bool  // says of a job that it is cancelled before its first step
	during    func(id string, cmd *exec.Cmd, out *testkit.Log) // is called with each script that runs
}

func newServer(t *testing.T) *server {
	t.Helper()
	return &server{t: t, dir: t.TempDir(), action: source(t), results: map[string]string{}, known: map[string]string{
		"github.run_id": "42", "github.run_attempt": "1", "github.event_name": "push", "runner.os": "Linux", "runner.arch": "X64",
		"job.workflow_repository": "nvidia/aicr-action", "job.workflow_sha": strings.Repeat("a1", 20),
	}}
}

// call runs a reusable workflow with inputs: each job once those have ended that it needs.
func (s *server) call(file string, inputs map[string]string) {
	s.t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(raw, &w); err != nil {
		s.t.Fatalf("%s: %v", file, err)
	}
	declared := w.inputs(s.t)
	for name, value := range declared {
		s.known["inputs."+name] = value
	}
	for name, value := range inputs {
		if _, ok := declared[name]; !ok {
			s.t.Fatalf("%s has no input %q", file, name)
		}
		s.known["inputs."+name] = value
	}
	s.jobs(w)
}

// run runs a workflow that a page shows: its own jobs, or those of the reusable workflow that it
// calls.
func (s *server) run(text string) {
	s.t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		s.t.Fatalf("%v in\n%s", err, text)
	}
	for name, one := range w.Jobs {
		file, ok := strings.CutPrefix(strings.TrimSuffix(one.Uses, "@main"), "nvidia/aicr-action/")
		if !ok {
			continue
		}
		inputs := map[string]string{}
		for input, value := range one.With {
			inputs[input] = fmt.Sprint(value)
		}
		s.call(file, inputs)
		for called, result := range maps.Clone(s.results) { // as the checks are called
			s.results[name+" / "+called] = result
		}
		return
	}
	s.jobs(w)
}

func (s *server) jobs(w workflow) {
	s.t.Helper()
	for len(s.results) < len(w.Jobs) {
		before := len(s.results)
		for _, name := range slices.Sorted(maps.Keys(w.Jobs)) {
			if s.results[name] == "" && s.ready(w.Jobs[name].Needs) {
				s.runJob(w, name)
			}
		}
		if len(s.results) == before {
			s.t.Fatal("jobs need each other in a circle")
		}
	}
}

func needsOf(needs any) []string {
	switch n := needs.(type) {
	case string:
		return []string{n}
	case []any:
		var all []string
		for _, one := range n {
			all = append(all, one.(string))
		}
		return all
	}
	return nil
}

func (s *server) ready(needs any) bool {
	return !slices.ContainsFunc(needsOf(needs), func(n string) bool { return s.results[n] == "" })
}

// runJob runs a job, or one for each entry of its matrix.
func (s *server) runJob(w workflow, name string) {
	s.t.Helper()
	j := w.Jobs[name]
	r := s.runner(name)
	for _, need := range needsOf(j.Needs) {
		s.known["needs."+need+".result"] = s.results[need]
		for output := range w.Jobs[need].Outputs {
			if _, ok := s.known["needs."+need+".outputs."+output]; !ok {
				s.known["needs."+need+".outputs."+output] = "" // of a job that was skipped
			}
		}
		r.failed = r.failed || s.results[need] != "success"
	}
	maps.Copy(r.known, s.known)
	if !r.holds(j.If) {
		s.results[name] = "skipped"
		return
	}
	entries := []map[string]string{{}}
	if m := regexp.MustCompile(`^\$\{\{ fromJSON\((.+)\) \}\}$`).FindStringSubmatch(fmt.Sprint(j.Strategy.Matrix)); m != nil {
		var all struct{ Include []map[string]any }
		if err := json.Unmarshal([]byte(r.lookup(m[1])), &all); err != nil || len(all.Include) == 0 {
			s.t.Fatalf("job %s: GitHub refuses the matrix %s: %v", name, r.lookup(m[1]), err)
		}
		entries = nil
		for _, e := range all.Include {
			values := map[string]string{}
			for k, v := range e {
				values[k] = fmt.Sprint(v)
			}
			entries = append(entries, values)
		}
	}
	if axes, ok := j.Strategy.Matrix.(map[string]any); ok { // one axis, of which one entry is run here
		entries = nil
		for axis, all := range axes {
			for _, value := range all.([]any) {
				if s.only == value {
					entries = append(entries, map[string]string{axis: s.only})
				}
			}
		}
		if len(entries) != 1 {
			s.t.Fatalf("job %s: its matrix %v does not have %q once", name, axes, s.only)
		}
	}
	s.results[name] = "success"
	for i, values := range entries {
		r := s.runner(name)
		r.known["strategy.job-index"] = strconv.Itoa(i)
		for k, v := range values {
			r.known["matrix."+k] = v
		}
		if s.cancel != nil && s.cancel(name, values) {
			s.results[name] = "cancelled"
			continue
		}
		for _, one := range j.Steps {
			one.step.With = map[string]string{}
			for k, v := range one.With {
				one.step.With[k] = fmt.Sprint(v)
			}
			r.action.Runs.Steps = append(r.action.Runs.Steps, one.step)
		}
		fmt.Fprintf(&s.log, "--- %s %v\n%s", name, values, r.act(s.during))
		if r.failed {
			s.results[name] = "failure"
		}
		for output, value := range j.Outputs {
			s.known["needs."+name+".outputs."+output] = r.fill(value)
		}
	}
}

// runner is a runner on a new machine.
func (s *server) runner(name string) *runner {
	r := &runner{t: s.t, dir: s.t.TempDir(), known: maps.Clone(s.known), server: s, env: s.env}
	r.known["github.job"], r.known["strategy.job-index"], r.known["github.action_path"] = name, "0", ""
	if s.left != nil {
		s.left(r.dir)
	}
	return r
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
