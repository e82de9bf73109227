package action_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRun: the result of the step and the action's outputs, for each way in which the program ends.
func TestRun(t *testing.T) {
	const running = "say conclusion=failure exit-reason=INTERNAL total=2 passed=1 failed=0 not-run=1; "
	for _, test := range []struct {
		name, end string
		want      []string
		code      int // of the step
		signal    bool
	}{
		{"green", "say conclusion=success exit-reason=OK total=2 passed=2; exit 0", []string{"conclusion=success", "exit-code=0", "exit-reason=OK", "total=2", "passed=2", "failed=0", "failed-cells=[]"}, 0, false},
		{"red", "say conclusion=failure exit-reason=DEPLOY_FAILED; exit 51", []string{"conclusion=failure", "exit-code=51", "exit-reason=DEPLOY_FAILED"}, 51, false},
		{"nothing selected", "say conclusion=neutral exit-reason=NOTHING_SELECTED total=0; exit 3", []string{"conclusion=neutral", "exit-code=3", "exit-reason=NOTHING_SELECTED", "total=0"}, 0, false},
		{"killed", running + "kill -KILL $$", []string{"conclusion=failure", "exit-code=137", "exit-reason=INTERRUPTED", "total=2", "passed=1", "not-run=1"}, 137, false},
		{"killed at its very end", "say conclusion=success exit-reason=OK; kill -KILL $$", []string{"conclusion=failure", "exit-code=137", "exit-reason=INTERRUPTED"}, 137, false},
		{"killed at its very beginning", "kill -KILL $$", []string{"conclusion=failure", "exit-code=137", "exit-reason=INTERRUPTED", "total=0"}, 137, false},
		{"crashed", running + "exit 2", []string{"conclusion=failure", "exit-code=2", "exit-reason=INTERNAL"}, 2, false},
		{"not there", "rm \"$0\"; exec \"$0\"", []string{"conclusion=failure", "exit-code=127", "exit-reason=INTERNAL", "failed-cells=[]"}, 127, false},
		// Two signals within a moment, as a cancelled job gets them; the program needs its time
		// after the first.
		{"interrupted", running + "trap 'echo TERM >> signals' TERM; touch ready; for ((i = 0; i < 20; )); do sleep 0.05; [[ ! -e signals ]] || ((++i)); done; say conclusion=failure exit-reason=INTERRUPTED; exit 143",
			[]string{"conclusion=failure", "exit-code=143", "exit-reason=INTERRUPTED"}, 143, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, map[string]string{"recipe": "eks", "args": "--keep\n\n--verbose", "html-report": "false"})
			if code, out := r.prepare(); code != 0 {
				t.Fatalf("prepare: exit code %d\n%s", code, out)
			}
			r.program(test.end)
			cmd, out := r.start("run")
			if test.signal {
				for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
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
			r.want(test.want...)
			results, debug := r.output("prepare.outputs.results"), r.output("prepare.outputs.debug")
			want := []string{"run", "--outputs=" + r.file("output-run"), "--annotations=" + r.output("prepare.outputs.annotations"), "--deployer=all", "--charts=auto", "--max-strikes=3", "--parallel=0", "--results=" + results, "--artifacts=" + debug,
				"--artifact-name=kwok-debug-eks-all-recipes-0-42-2", "--summary=" + r.file("summary-run"), "--junit=" + results + "/junit.xml", "--keep", "--verbose", "--", "eks"}
			if got := r.args(); !slices.Equal(got, want) {
				t.Errorf("arguments:\ngot  %q\nwant %q", got, want)
			}
		})
	}
}

// TestRun_Cells: which recipes the program is asked for.
func TestRun_Cells(t *testing.T) {
	for name, test := range map[string]struct {
		inputs map[string]string
		want   []string // the last arguments
		cell   string   // in the names of artifacts
	}{
		"by default":       {nil, []string{"--all"}, "all-all"},
		"blanks":           {map[string]string{"recipe": " ,\n "}, []string{"--all"}, "-----all"},
		"one":              {map[string]string{"recipe": "eks", "deployer": "helm"}, []string{"--", "eks"}, "eks-helm"},
		"a tier":           {map[string]string{"tier": "auto", "args": "--base=origin/main"}, []string{"--tier=auto", "--base=origin/main"}, "tier-auto-all"},
		"a bundle":         {map[string]string{"bundle-dir": "./b", "deployer": "helm", "args": "--service=eks"}, []string{"--bundle-dir=./b", "--service=eks"}, "all-helm"},
		"AICR's CLI":       {map[string]string{"recipe": "eks", "bundler": "exec", "aicr-path": "./aicr"}, []string{"--bundler=exec", "--aicr-path=./aicr", "--", "eks"}, "eks-all"},
		"a checkout's CLI": {map[string]string{"recipe": "eks", "aicr": "build"}, []string{"--aicr=build", "--", "eks"}, "eks-all"},
		"a tier's shard":   {map[string]string{"tier": "1,2", "shard": "2/4"}, []string{"--tier=1,2"}, "tier-1-2-all-2-of-4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, test.inputs)
			if code, out := r.prepare(); code != 0 {
				t.Fatalf("prepare: exit code %d\n%s", code, out)
			}
			r.program("exit 0")
			if code, out := r.do("run"); code != 0 {
				t.Fatalf("run: exit code %d\n%s", code, out)
			}
			if got := r.args(); len(got) < len(test.want) || !slices.Equal(got[len(got)-len(test.want):], test.want) {
				t.Errorf("arguments: got %q, want the last to be %q", got, test.want)
			}
			if got := r.output("prepare.outputs.artifact"); got != "-"+test.cell+"-recipes-0-42-2" {
				t.Errorf("cell of the artifacts' names: got %q, want %q", got, test.cell)
			}
		})
	}
	r := newRunner(t, map[string]string{"tier": "2", "recipe": "eks"})
	if code, out := r.prepare(); code != 2 || !strings.Contains(out, "Input tier chooses the recipes, so that input recipe must be empty") {
		t.Errorf("tier and recipe: exit code %d\n%s", code, out)
	}
	r = newRunner(t, map[string]string{"recipe": "eks", "cluster": "kind"})
	if code, out := r.prepare(); code != 0 {
		t.Fatalf("cluster kind: prepare: exit code %d\n%s", code, out)
	}
	r.program("exit 0")
	if code, out := r.do("run"); code != 0 || !slices.Contains(r.args(), "--platform=kind") {
		t.Errorf("cluster kind: exit code %d, arguments %q\n%s", code, r.args(), out)
	}
	r = newRunner(t, map[string]string{"cluster": "minikube"})
	if code, out := r.prepare(); code != 2 || !strings.Contains(out, "want embedded or kind") {
		t.Errorf("a kind of cluster that does not exist: exit code %d\n%s", code, out)
	}
}

// TestRun_PlainControllers: the input is a flag, and anything but true or false is refused.
func TestRun_PlainControllers(t *testing.T) {
	for input, want := range map[string]bool{"false": false, "true": true} {
		r := newRunner(t, map[string]string{"recipe": "eks", "plain-controllers": input})
		if code, out := r.prepare(); code != 0 {
			t.Fatalf("prepare: exit code %d\n%s", code, out)
		}
		r.program("exit 0")
		if code, out := r.do("run"); code != 0 {
			t.Fatalf("run: exit code %d\n%s", code, out)
		}
		if got := slices.Contains(r.args(), "--plain-controllers"); got != want {
			t.Errorf("input %s: got arguments %q", input, r.args())
		}
	}
	r := newRunner(t, map[string]string{"recipe": "eks", "plain-controllers": "yes"})
	if code, out := r.prepare(); code != 2 || !strings.Contains(out, "Input plain-controllers has a wrong value") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestRun_From: the input is a flag; base is none where there is no base, and then evidence is none.
func TestRun_From(t *testing.T) {
	for _, test := range []struct{ input, event, evidence, want string }{
		{"", "pull_request", "true", ""}, {"base", "pull_request", "true", "--from=base"}, {"base", "pull_request_target", "false", "--from=base"}, {"base", "merge_group", "false", "--from=base"},
		{"base", "push", "true", ""}, {"base", "schedule", "false", ""}, {"v1.0", "push", "true", "--from=v1.0"},
	} {
		r := newRunner(t, map[string]string{"recipe": "eks", "from": test.input, "evidence": test.evidence})
		if code, out := r.prepare(); code != 0 {
			t.Fatalf("prepare: exit code %d\n%s", code, out)
		}
		r.program("exit 0")
		r.env = append(r.env, "GITHUB_EVENT_NAME="+test.event)
		if code, out := r.do("run"); code != 0 {
			t.Fatalf("run: exit code %d\n%s", code, out)
		}
		at := slices.IndexFunc(r.args(), func(arg string) bool { return strings.HasPrefix(arg, "--from") })
		if got := at >= 0; got != (test.want != "") || got && r.args()[at] != test.want {
			t.Errorf("input %q on %s: got arguments %q", test.input, test.event, r.args())
		}
		if strings.Contains(strings.Join(r.args(), " "), "--evidence") != (test.evidence == "true" && test.want != "") {
			t.Errorf("input evidence %q with %q on %s: got arguments %q", test.evidence, test.input, test.event, r.args())
		}
	}
}

// TestRun_Free: such an input becomes one argument with its flag, and none if it is empty.
func TestRun_Free(t *testing.T) {
	for _, tc := range []struct{ input, value, want string }{
		{"kubernetes", "floor", "--kubernetes=floor"}, {"helm", "3,4", "--helm=3,4"}, {"mixins", "nvsentinel-observe,npd", "--mixin=nvsentinel-observe,npd"}, {"args", "--split", "--split"},
	} {
		for _, value := range []string{"", tc.value} {
			r := newRunner(t, map[string]string{"recipe": "eks", tc.input: value})
			if code, out := r.prepare(); code != 0 {
				t.Fatalf("prepare: exit code %d\n%s", code, out)
			}
			r.program("exit 0")
			if code, out := r.do("run"); code != 0 {
				t.Fatalf("run: exit code %d\n%s", code, out)
			}
			flag, _, _ := strings.Cut(tc.want, "=")
			if got := slices.Contains(r.args(), tc.want); got != (value != "") || value == "" && strings.Contains(strings.Join(r.args(), " "), flag) {
				t.Errorf("input %s %q: got arguments %q", tc.input, value, r.args())
			}
		}
	}
}

// TestRun_Operators: the input becomes one argument with its flag, none for what is the default, and
// has a form.
func TestRun_Operators(t *testing.T) {
	for input, want := range map[string]string{"simulated": "", "auto": "--operators=auto", "real": "--operators=real"} {
		r := newRunner(t, map[string]string{"recipe": "eks", "operators": input})
		if code, out := r.prepare(); code != 0 {
			t.Fatalf("prepare: exit code %d\n%s", code, out)
		}
		r.program("exit 0")
		if code, out := r.do("run"); code != 0 {
			t.Fatalf("run: exit code %d\n%s", code, out)
		}
		at := slices.IndexFunc(r.args(), func(arg string) bool { return strings.HasPrefix(arg, "--operators") })
		if got := at >= 0; got != (want != "") || got && r.args()[at] != want {
			t.Errorf("input %q: arguments %q", input, r.args())
		}
	}
	r := newRunner(t, map[string]string{"recipe": "eks", "operators": "true"})
	if code, out := r.prepare(); code != 2 || !strings.Contains(out, "Input operators has a wrong value; want simulated, auto or real") {
		t.Errorf("prepare: exit code %d\n%s", code, out)
	}
}

// TestRun_Profiles: the input becomes one argument with its flag, and none if it is empty.
func TestRun_Profiles(t *testing.T) {
	for input, want := range map[string]bool{"": false, "./my profiles": true} {
		r := newRunner(t, map[string]string{"recipe": "eks", "profiles": input})
		if code, out := r.prepare(); code != 0 {
			t.Fatalf("prepare: exit code %d\n%s", code, out)
		}
		r.program("exit 0")
		if code, out := r.do("run"); code != 0 {
			t.Fatalf("run: exit code %d\n%s", code, out)
		}
		if got := r.args(); slices.Contains(got, "--profiles="+input) != want || strings.Contains(strings.Join(got, " "), "--profiles") != want {
			t.Errorf("input %q: arguments %q", input, got)
		}
	}
}

// TestDocumentedOutputs: docs/ci.md tells of every output. Its workflows, and their inputs, are
// checked in cmd/matrix (TestDocumentWorkflows).
func TestDocumentedOutputs(t *testing.T) {
	raw, err := os.ReadFile("docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range readAction(t).Outputs {
		if !strings.Contains(string(raw), "`"+name+"`") {
			t.Errorf("docs/ci.md does not tell of output %s", name)
		}
	}
}

// TestInput_Invalid: a run that ends before its first cell has its outputs, and uploads no missing
// file.
func TestInput_Invalid(t *testing.T) {
	r := newRunner(t, map[string]string{"parallel": "many"})
	log := r.act(nil)
	if all := commands(log); len(all) != 1 || all[0].name != "error" || all[0].properties != "title=Input parallel" {
		t.Errorf("commands: got %+v\n%s", all, log)
	}
	r.want("conclusion=failure", "exit-code=2", "exit-reason=USAGE", "total=0", "not-run=0", "failed-cells=[]")
	if _, err := os.Stat(r.file("artifacts")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was uploaded: %v", err)
	}
}
