package chaos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

func read(t *testing.T, text string) (*Plan, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "chaos.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(file)
}

func TestRead(t *testing.T) {
	p, err := read(t, "seed: 3\nsettle: 1m\nsteps:\n- name: one\n  at: 10s\n  stopNodes: {labels: {rack: r1}, count: 2}\n- wait: 5s\n  settle: 2s\n  drain: {names: [n0]}\n- afterTask: jobs\n  when: {pods: 4}\n  failPods: {namespace: lab}\n")
	if err != nil {
		t.Fatal(err)
	}
	if p.Seed != 3 || len(p.Steps) != 3 || p.Steps[0].Name != "one" || p.Steps[0].Line != 4 || p.Steps[0].At != 10*time.Second || p.Steps[0].Settle != time.Minute {
		t.Errorf("got %+v", p)
	}
	if s := p.Steps[1]; s.Name != "drain" || s.Wait != 5*time.Second || s.Settle != 2*time.Second || time.Duration(s.action.(*drain).Timeout) != defaultDrain {
		t.Errorf("the second step: got %+v, %+v", s, s.action)
	}
	if s := p.Steps[2]; s.When.Phase != "Running" || s.action.(*failPods).ExitCode != 1 || time.Duration(s.When.Timeout) != defaultWhen {
		t.Errorf("the third step: got %+v, %+v", s.When, s.action)
	}
	if err := p.CheckTasks([]string{"nodes", "jobs"}); err != nil {
		t.Errorf("a task that is there: %v", err)
	}
	if err := p.CheckTasks([]string{"nodes"}); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), `chaos.yaml:10: afterTask "jobs": no task has this id; there are: nodes`) {
		t.Errorf("a task that is not there: got %v", err)
	}
	if err := p.CheckTasks(nil); err == nil || !strings.Contains(err.Error(), "only `matrix workflow run` has tasks") {
		t.Errorf("no tasks: got %v", err)
	}
}

// The shipped example is one that can be read, and its task is one of the workflow's that it is
// for.
func TestExample(t *testing.T) {
	p, err := Read("../../../workflows/chaos/rack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../../workflows/jobs.yaml")
	if err != nil || len(p.Tasks()) != 1 {
		t.Fatal(err, p.Tasks())
	}
	for id := range p.Tasks() {
		if !strings.Contains(string(raw), "\n- id: "+id+"\n") {
			t.Errorf("jobs.yaml has no task %s", id)
		}
	}
}

// Each mistake is refused with its line.
func TestReadBad(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no YAML":             {"steps: [", "did not find expected node content"},
		"no document":         {"# nothing\n", "chaos.yaml:1: want one document"},
		"two documents":       {"steps: []\n---\nsteps: []\n", "want one document"},
		"no steps":            {"seed: 1\n", "steps: there are 0; want 1 to 200"},
		"unknown field":       {"seeds: 1\nsteps: []\n", `chaos.yaml:1: unknown field "seeds"`},
		"unknown action":      {"steps:\n- stopNode: {count: 1}\n", `chaos.yaml:2: unknown field "stopNode"`},
		"unknown in action":   {"steps:\n- stopNodes:\n    cuont: 1\n", `chaos.yaml:3: unknown field "cuont"; there are: labels, names, count`},
		"no action":           {"steps:\n- {name: x}\n", "chaos.yaml:2: a step has one action; this one has 0"},
		"two actions":         {"steps:\n- {stopNodes: {count: 1}, killPods: {count: 1}}\n", "this one has 2"},
		"a list":              {"steps:\n- [x]\n", "chaos.yaml:2: a step is a mapping"},
		"which nodes":         {"steps:\n- drain: {}\n", "chaos.yaml:2: drain: which nodes? Give labels, names or count"},
		"names and count":     {"steps:\n- drain: {names: [a], count: 1}\n", "leave out labels and count"},
		"negative count":      {"steps:\n- restoreNodes: {count: -1}\n", "restoreNodes: count -1"},
		"bad label":           {"steps:\n- stopNodes: {labels: {rack: 'a b'}}\n", `stopNodes: label rack="a b"`},
		"no GPUs":             {"steps:\n- loseGPUs: {count: 1}\n", "loseGPUs: gpus 0: want how many GPUs each node loses"},
		"which pods":          {"steps:\n- killPods: {}\n", "killPods: which pods? Give namespace, labels or count"},
		"bad namespace":       {"steps:\n- killPods: {namespace: A}\n", `killPods: namespace "A"`},
		"exit code":           {"steps:\n- failPods: {count: 1, exitCode: 300}\n", "failPods: exitCode 300: want 1 to 255"},
		"time":                {"steps:\n- at: soon\n  killPods: {count: 1}\n", `chaos.yaml:2: "soon" is no duration`},
		"at and wait":         {"steps:\n- {at: 1s, wait: 1s, killPods: {count: 1}}\n", "give one of them"},
		"when without pods":   {"steps:\n- {when: {phase: Running}, killPods: {count: 1}}\n", "when: pods 0"},
		"when what":           {"steps:\n- {when: {phase: Up, pods: 1}, killPods: {count: 1}}\n", `when: phase "Up": want one of Pending`},
		"too many steps":      {"steps: [" + strings.Repeat("{killPods: {count: 1}},", 201) + "]\n", "there are 201"},
		"every mistake":       {"steps:\n- drain: {}\n- killPods: {}\n", "chaos.yaml:3: killPods"},
		"a billion laughs":    {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nsteps: *b\n", "unknown field"},
		"steps of a scalar":   {"steps: 3\n", "cannot unmarshal"},
		"a seed of no number": {"seed: x\nsteps: []\n", "chaos.yaml:1: cannot unmarshal"},
	} {
		if _, err := read(t, c.text); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.yaml")); reason.Of(err) != reason.Usage {
		t.Errorf("a file that is not there: got %v", err)
	}
}
