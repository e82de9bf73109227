package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// invocationResult is what a person sees of one call of the program.
type invocationResult struct {
	code           int
	stdout, stderr string
}

// invoke runs the program in this process, with its own cache and only env ("NAME=value") as its
// environment. It checks that the program made no cluster or run there: every caller runs a command
// that is rejected, or only prints.
func invoke(t *testing.T, env []string, args ...string) invocationResult {
	t.Helper()
	t.Setenv("PATH", t.TempDir()) // without a go command: what should have been refused must not compile the stack instead
	return invokeIn(t.Context(), t, t.TempDir(), env, args...)
}

// gitOnly is a directory that has git and no other program.
func gitOnly(t *testing.T) string {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\nexec "+git+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func invokeIn(ctx context.Context, t *testing.T, cache string, env []string, args ...string) invocationResult {
	t.Helper()
	getenv := func(name string) string {
		for _, e := range append([]string{"AICR_ACTION_CACHE=" + cache}, env...) {
			if key, value, _ := strings.Cut(e, "="); key == name {
				return value
			}
		}
		if name == "AICR_ACTION_ALLOW_PRIVATE" { // of newUpstream
			return os.Getenv(name)
		}
		return ""
	}
	var stdout, stderr strings.Builder
	code := execute(ctx, args, getenv, &stdout, &stderr)
	for _, dir := range []string{"clusters", "runs"} {
		if entries, err := os.ReadDir(filepath.Join(cache, dir)); err == nil {
			t.Errorf("matrix %s left %s with %d entries in its cache", strings.Join(args, " "), dir, len(entries))
		}
	}
	return invocationResult{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// want fails the test unless the program exited with the code and printed every part on stderr.
func (r invocationResult) want(t *testing.T, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code: got %d, want %d; stderr:\n%s", r.code, code, r.stderr)
	}
	wantText(t, "stderr", r.stderr, parts...)
	if code != 0 && r.stdout != "" {
		t.Errorf("an error must not print data on stdout; got:\n%s", r.stdout)
	}
}

// What tests of the commands' packages need too.
var (
	wantText  = testkit.WantText
	wantFile  = testkit.WantFile
	edit      = testkit.Edit
	git       = testkit.Git
	outputsOf = testkit.StepOutputs
)

// recipesCopy is this project's recipes in a directory of the test's own, fewRecipes some of them.
func recipesCopy(t *testing.T) string { return testkit.RecipesCopy(t, repository) }
func fewRecipes(t *testing.T) string  { return testkit.FewRecipes(t, repository) }

// lineOf is the 1-based number of the first line of a file that has the text.
func lineOf(t *testing.T, file, text string) int {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	for i, line := range strings.Split(string(raw), "\n") {
		if strings.Contains(line, text) {
			return i + 1
		}
	}
	t.Fatalf("%s has no line with %q", file, text)
	return 0
}
