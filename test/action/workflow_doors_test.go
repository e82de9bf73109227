package action_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// shown is the workflow on a page that has the text in it.
func shown(t *testing.T, page, text string) string {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(raw), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if strings.Contains(block, text) {
			return block
		}
	}
	t.Fatalf("%s shows no workflow with %s", page, text)
	return ""
}

// runs replaces the program's command run by this script.
func (s *recipesRun) runs(script string) {
	s.t.Helper()
	write(s.t, filepath.Join(s.cells, "run"), "#!/bin/bash\nfor arg in \"$@\"; do [[ $arg != --outputs=* ]] || out=${arg#--outputs=}; done\nsay() { [[ -z $out ]] || printf '%s\\n' \"$@\" > \"$out\"; }\n"+script+"\n")
}

// asPullRequest is the merge commit of a pull request that changes nothing.
func (s *recipesRun) asPullRequest() {
	s.t.Helper()
	event := filepath.Join(s.dir, "event.json")
	write(s.t, event, `{"pull_request":{"number":1,"base":{"ref":"main","sha":"`+gitIn(s.t, s.checkout, "rev-parse", "HEAD")+`"}}}`)
	gitIn(s.t, s.checkout, "switch", "--quiet", "--create", "topic")
	gitIn(s.t, s.checkout, "commit", "--quiet", "--allow-empty", "--message", "nothing")
	gitIn(s.t, s.checkout, "switch", "--quiet", "--detach", "main")
	gitIn(s.t, s.checkout, "merge", "--quiet", "--no-ff", "--message", "as GitHub merges", "topic")
	s.env = append(s.env, "GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/1/merge", "GITHUB_EVENT_PATH="+event)
}

// cancelled is what GitHub does to the step that runs the program: two signals, to its shell alone.
func cancelled(t *testing.T, step string) func(id string, cmd *exec.Cmd, out *testkit.Log) {
	return func(id string, cmd *exec.Cmd, out *testkit.Log) {
		if id != step {
			return
		}
		for end := time.Now().Add(time.Minute); !strings.Contains(out.String(), "a cell runs"); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the program does not run:\n%s", out)
			}
		}
		_ = cmd.Process.Signal(syscall.SIGINT)
		time.Sleep(100 * time.Millisecond) // between the runner's signals; too short a time would only make the test easier
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
}

// TestDoors: the three ways to use the project in CI as the pages show them, for each way in which
// a job can end. The program is the real one except for its command run, which a script replaces.
// The real program decides whether any cell is selected. TestFiveLines runs cells on the real
// stack.
func TestDoors(t *testing.T) {
	bin := matrix(t)
	const (
		green       = "say conclusion=success exit-reason=OK total=1 passed=1; exit 0"
		red         = "say conclusion=failure exit-reason=DEPLOY_FAILED total=1 failed=1; exit 51"
		interrupted = `trap 'say conclusion=failure exit-reason=INTERRUPTED; echo the cell is interrupted; exit 143' INT TERM; echo a cell runs; while :; do sleep 0.05; done`
	)
	real := `exec ` + bin + ` "$@"`
	setup, action, called := shown(t, "docs/ci.md", "aicr-action/setup@main"), shown(t, "docs/ci.md", "tier: auto, job-timeout-minutes"), shown(t, "docs/required-check.md", "recipes.yaml@main")
	tier2 := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in\n%s", old, text)
		}
		return strings.Replace(text, old, new, 1)
	}
	with := func(inputs string) string {
		return strings.TrimRight(called, "\n ") + "\n       with: {" + inputs + "}\n"
	}
	for door, ends := range map[string]map[string]struct {
		workflow, run string // the script replaces the program's command run
		prepare       func(s *recipesRun)
		checks        map[string]string // how each check ends
		log           string
	}{
		"setup": {
			"green":            {setup, green, nil, map[string]string{"lanes": "success"}, "exit code 0"},
			"red":              {setup, red, nil, map[string]string{"lanes": "failure"}, "exit code 51"},
			"nothing selected": {tier2(setup, "eks-training", "--tier 2"), real, (*recipesRun).asPullRequest, map[string]string{"lanes": "failure"}, "exit code 3"},
			"cancelled":        {setup, interrupted, func(s *recipesRun) { s.during = cancelled(s.t, "step-2") }, map[string]string{"lanes": "failure"}, "the cell is interrupted"},
		},
		"the Action": {
			"green":            {action, green, (*recipesRun).asPullRequest, map[string]string{"recipes": "success"}, "exit code 0"},
			"red":              {action, red, (*recipesRun).asPullRequest, map[string]string{"recipes": "failure"}, "exit code 51"},
			"nothing selected": {tier2(action, "auto", "'2'"), real, (*recipesRun).asPullRequest, map[string]string{"recipes": "success"}, "nothing was checked"},
			"cancelled": {action, interrupted, func(s *recipesRun) {
				s.asPullRequest()
				s.during = cancelled(s.t, "run")
			}, map[string]string{"recipes": "failure"}, "the cell is interrupted"},
		},
		"the reusable workflow": {
			"green": {with("recipe: eks, deployer: helm"), "", func(s *recipesRun) { s.leaves("eks", result.Passed, "", "0", "42") }, map[string]string{"recipes / report": "success"}, "1 passed"},
			"red":   {with("recipe: eks, deployer: helm"), "", func(s *recipesRun) { s.leaves("eks", result.Failed, reason.DeployFailed, "51", "42") }, map[string]string{"recipes / report": "failure"}, "title=DEPLOY_FAILED"},
			"nothing selected": {with("tier: '2'"), "", (*recipesRun).asPullRequest, map[string]string{"recipes / plan": "success", "recipes / cells": "skipped", "recipes / report": "success"},
				"nothing was checked"},
			"in a repository with nothing in it": {called, "", func(s *recipesRun) {
				if err := os.RemoveAll(filepath.Join(s.checkout, "recipes")); err != nil {
					s.t.Fatal(err)
				}
			}, map[string]string{"recipes / plan": "failure", "recipes / cells": "skipped", "recipes / report": "failure"}, "write --recipes-dir embedded"},
			"cancelled": {with("recipe: 'eks,aks', deployer: helm"), "", func(s *recipesRun) {
				s.leaves("eks", result.Passed, "", "0", "42")
				s.cancel = func(job string, values map[string]string) bool { return job == "cells" && values["recipe"] == "aks" }
			}, map[string]string{"recipes / cells": "cancelled", "recipes / report": "failure"}, "INTERRUPTED"},
		},
	} {
		for end, test := range ends {
			t.Run(door+"/"+end, func(t *testing.T) {
				t.Parallel()
				s := newRecipesRun(t, bin)
				if test.run != "" {
					s.runs(test.run)
				}
				if test.prepare != nil {
					test.prepare(s)
				}
				s.run(test.workflow)
				s.want(test.checks, test.log)
			})
		}
		for _, end := range []string{"green", "red", "nothing selected", "cancelled"} {
			if _, ok := ends[end]; !ok {
				t.Errorf("%s is not walked for the end %s", door, end)
			}
		}
	}
}

// TestNewcomersPage: the page that leads to a required check is one of twenty lines, and what other
// pages say of its workflow fits it.
func TestNewcomersPage(t *testing.T) {
	raw, err := os.ReadFile("docs/required-check.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(raw), "\n"); lines > 20 {
		t.Errorf("docs/required-check.md has %d lines, want 20 at most", lines)
	}
	first, second := shown(t, "docs/required-check.md", "recipes.yaml@main"), shown(t, "docs/ci.md", "comment.yaml@main")
	var called struct {
		Name string         `json:"name"`
		Jobs map[string]any `json:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(first), &called); err != nil {
		t.Fatal(err)
	}
	if _, ok := called.Jobs["recipes"]; !ok || !strings.Contains(string(raw), "`recipes / report`") {
		t.Errorf("the check to require is not that of the jobs %v", called.Jobs)
	}
	var commented struct {
		On struct {
			Run struct {
				Workflows []string `json:"workflows"`
			} `json:"workflow_run"`
		} `json:"true"`
	}
	if err := yaml.Unmarshal([]byte(second), &commented); err != nil || !slices.Equal(commented.On.Run.Workflows, []string{called.Name}) {
		t.Errorf("the workflow that comments waits for %q, and the page's is called %q (%v)", commented.On.Run.Workflows, called.Name, err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{first, second} {
		if found, err := linter.Lint("shown.yaml", []byte(text), nil); err != nil || len(found) > 0 {
			t.Errorf("%v, %v in\n%s", found, err, text)
		}
	}
}
