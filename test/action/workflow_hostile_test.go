package action_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// elsewhere are the places in workflows, besides a step's env and the inputs of another door, into
// which an input may go. None of them is a shell, a file or a log.
var elsewhere = map[string]string{
	"concurrency.group": "a name that GitHub compares",
	"runs-on":           "the caller chooses the machine",
	"timeout-minutes":   "a number, which GitHub checks",
	"with.name":         "of an artifact; only of id, which the first step has checked", "with.pattern": "as with.name", "with.key": "as with.name", "with.restore-keys": "as with.name",
	"with.retention-days": "actions/upload-artifact checks it", "if": "a comparison", "with.stack": "a comparison", "with.images": "a comparison", "with.fetch-depth": "a comparison",
}

// fuzzed are the steps of workflows that have inputs in their env, with a check of a run of their
// script with a hostile value.
var fuzzed = map[string]func(t *testing.T, file string, s step){
	"recipes.yaml self": refusesInputs, "recipes.yaml select": selects, "comment.yaml check": refusesInputs, "comment.yaml Comment": nil, // after check
	"check-run.yaml check": refusesInputs, "check-run.yaml Write the Check Run": nil, // after check; the name is a part of one argument
	"release.yaml check": refusesInputs,
}

// TestEveryInput: each input that a workflow declares, for callers or for people, goes where its
// values are fuzzed. A new one that goes somewhere else has to be fuzzed first.
func TestEveryInput(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	actions, called := readAction(t).Inputs, readWorkflow(t, ".github/workflows/recipes.yaml").inputs(t)
	ran := map[string]bool{}
	for _, file := range files {
		base := filepath.Base(file)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var whole map[string]any
		if err := yaml.Unmarshal(raw, &whole); err != nil {
			t.Fatal(err)
		}
		uses := map[string]int{}
		for _, u := range usesOfInputs(whole, nil, nil) {
			uses[u.input]++
			last, with := u.path[len(u.path)-1], slices.Contains(u.path, "with")
			where := last
			if with {
				where = "with." + last
			} else if slices.Contains(u.path, "concurrency") {
				where = "concurrency." + last
			}
			action, _ := u.step["uses"].(string)
			id, _ := u.step["id"].(string)
			if id == "" {
				id, _ = u.step["name"].(string)
			}
			switch {
			case slices.Contains(u.path, "env") && u.step != nil:
				if _, ok := fuzzed[base+" "+id]; !ok {
					t.Errorf("%s: input %s goes into step %q, whose script is not fuzzed", file, u.input, id)
				}
				ran[base+" "+id] = true
			case slices.Equal(u.path, []string{"env", "VERSION"}) && base == "release.yaml": // of all jobs, of which the first one checks it
				ran["release.yaml check"] = true
			case with && (action == "./.aicr-action" || action == "./"):
				if _, ok := actions[last]; !ok {
					t.Errorf("%s: input %s goes into the input %s, which the Action does not have", file, u.input, last)
				}
			case with && u.step == nil:
				if _, ok := called[last]; !ok {
					t.Errorf("%s: input %s goes into the input %s, which recipes.yaml does not have", file, u.input, last)
				}
			case elsewhere[where] == "" || strings.HasPrefix(elsewhere[where], "as with.name") && u.input != "id" || where == "with.name" && u.input != "id":
				t.Errorf("%s: input %s goes into %s, where nothing checks it", file, u.input, strings.Join(u.path, "."))
			}
		}
		for _, name := range declared(whole) {
			if uses[name] == 0 {
				t.Errorf("%s: input %s goes nowhere", file, name)
			}
			delete(uses, name)
		}
		if len(uses) > 0 {
			t.Errorf("%s: uses inputs that it does not declare: %v", file, uses)
		}
	}
	if want := slices.Sorted(maps.Keys(fuzzed)); !slices.Equal(slices.Sorted(maps.Keys(ran)), want) {
		t.Errorf("inputs go into the steps %q, and these are fuzzed: %q", slices.Sorted(maps.Keys(ran)), want)
	}
}

// useOfInput is a place in a workflow into which an input goes.
type useOfInput struct {
	input string
	path  []string
	step  map[string]any // nil outside of steps
}

var inputName = regexp.MustCompile(`\binputs\.([a-z-]+)`)

func usesOfInputs(node any, path []string, in map[string]any) []useOfInput {
	var all []useOfInput
	switch n := node.(type) {
	case map[string]any:
		for key, value := range n {
			all = append(all, usesOfInputs(value, append(slices.Clone(path), key), in)...)
		}
	case []any:
		for _, value := range n {
			if s, ok := value.(map[string]any); ok && path[len(path)-1] == "steps" {
				in = s
			}
			all = append(all, usesOfInputs(value, path, in)...)
		}
	case string:
		for _, e := range append(expression.FindAllString(n, -1), map[bool]string{true: n}[path[len(path)-1] == "if"]) {
			for _, m := range inputName.FindAllStringSubmatch(e, -1) {
				all = append(all, useOfInput{m[1], path, in})
			}
		}
	}
	return all
}

// declared are the inputs of a workflow, for callers and for people.
func declared(whole map[string]any) []string {
	var names []string
	on, _ := whole["true"].(map[string]any)
	for _, event := range []string{"workflow_call", "workflow_dispatch"} {
		object, _ := on[event].(map[string]any)
		inputs, _ := object["inputs"].(map[string]any)
		names = append(names, slices.Sorted(maps.Keys(inputs))...)
	}
	return names
}

func readWorkflow(t *testing.T, file string) workflow {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(raw, &w); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return w
}

// TestHostileWorkflowInputs runs the scripts of workflows that see an input.
func TestHostileWorkflowInputs(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(fuzzed)) {
		file, id, _ := strings.Cut(name, " ")
		for _, job := range readWorkflow(t, ".github/workflows/"+file).Jobs {
			for _, s := range job.Steps {
				if run := fuzzed[name]; run != nil && s.ID == id {
					run(t, file, s.step)
				}
			}
		}
	}
}

// scriptRunner is a runner for one step of a workflow, whose inputs have their defaults.
func scriptRunner(t *testing.T, file string, s step) *runner {
	t.Helper()
	r := &runner{t: t, dir: t.TempDir(), known: map[string]string{"github.action_path": "", "runner.os": "Linux", "runner.arch": "X64", "github.token": "token",
		"job.workflow_repository": "nvidia/aicr-action", "job.workflow_sha": "", "github.repository": "o/r"}}
	for name, value := range readWorkflow(t, ".github/workflows/"+file).inputs(t) {
		r.known["inputs."+name] = value
	}
	r.known["inputs.action-ref"] = strings.Repeat("a1", 20)
	r.action.Runs.Steps = []step{s}
	r.env = []string{"GITHUB_SHA=abc"}
	return r
}

// inputsOf are the inputs in a step's env. VERSION is in the env of the whole workflow.
func inputsOf(s step) []string {
	var names []string
	for _, value := range s.Env {
		if m := inputName.FindStringSubmatch(value); m != nil {
			names = append(names, m[1])
		}
	}
	if strings.Contains(s.Run, "$VERSION") {
		names = append(names, "version")
	}
	slices.Sort(names)
	return names
}

// refusesInputs: an input that has a form is refused by name.
func refusesInputs(t *testing.T, file string, s step) {
	for _, name := range inputsOf(s) {
		for i, value := range hostile() {
			t.Run(fmt.Sprintf("%s/%s/%d", file, name, i), func(t *testing.T) {
				t.Parallel()
				r := scriptRunner(t, file, s)
				r.known["inputs."+name] = value
				if name == "version" {
					r.env = append(r.env, "VERSION="+value)
				}
				code, out := r.do(s.ID)
				all := commands(out)
				if code != 2 || len(all) != 1 || all[0].properties != "title=Input "+name || strings.Contains(all[0].message, "touch") || len(out) > 500 {
					t.Errorf("exit code %d, commands %+v, want 2 and one error on the input\n%.500s", code, all, out)
				}
				r.wantNotOwned(value)
			})
		}
	}
}

// selects: each input is one argument of the program, which refuses what it does not understand and
// gives the runner no command.
func selects(t *testing.T, file string, s step) {
	bin, tools := matrix(t), noGo(t)
	if err := os.Link(bin, filepath.Join(tools, "matrix")); err != nil {
		t.Fatal(err)
	}
	recipes, err := filepath.Abs("recipes")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range inputsOf(s) {
		for i, value := range hostile() {
			t.Run(fmt.Sprintf("%s/%s/%d", file, name, i), func(t *testing.T) {
				t.Parallel()
				r := scriptRunner(t, file, s)
				if err := os.Symlink(recipes, r.file("recipes")); err != nil {
					t.Fatal(err)
				}
				r.env = append(r.env, "PATH="+tools)
				if name != "tier" {
					r.known["inputs.recipe"] = "eks"
				}
				r.known["inputs."+name] = value
				code, out := r.do(s.ID)
				want := free[name]
				if want == "" {
					want = name // the flag's
				}
				if code != 2 || !strings.Contains(out, want) || r.output("select.outputs.matrix") != "" {
					t.Errorf("exit code %d, output %q, want 2 and %q in\n%.2000s", code, r.output("select.outputs.matrix"), want, out)
				}
				if all := commands(out); len(all) > 0 {
					t.Errorf("commands in the log: %+v\n%.2000s", all, out)
				}
				r.wantNotOwned(value)
			})
		}
	}
	// What comes out of a good one is one line of JSON.
	r := scriptRunner(t, file, s)
	if err := os.Symlink(recipes, r.file("recipes")); err != nil {
		t.Fatal(err)
	}
	r.env, r.known["inputs.recipe"] = append(r.env, "PATH="+tools), "eks"
	if code, out := r.do(s.ID); code != 0 || !json.Valid([]byte(r.output("select.outputs.matrix"))) {
		t.Errorf("exit code %d, output %q\n%s", code, r.output("select.outputs.matrix"), out)
	}
}
