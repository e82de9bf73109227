package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	code := run(ctx, args, getenv, &stdout, &stderr)
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

// wantText fails unless text has every part.
func wantText(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: want %q in:\n%s", what, part, text)
		}
	}
}

// recipesCopy is this project's recipes in a directory of the test's own, for it to break.
func recipesCopy(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recipes")
	if err := os.CopyFS(dir, os.DirFS("../../recipes")); err != nil {
		t.Fatalf("copy the recipes: %v", err)
	}
	return dir
}

// fewRecipes is a recipesCopy with four overlays only: base, eks, eks-training and monitoring-hpa.
// What is checked of the machinery with it stays the same when the set grows.
func fewRecipes(t *testing.T) string {
	t.Helper()
	dir := recipesCopy(t)
	files, err := filepath.Glob(filepath.Join(dir, "overlays", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	keep := []string{"base", "eks", "eks-training", "monitoring-hpa"}
	for _, file := range files {
		if slices.Contains(keep, strings.TrimSuffix(filepath.Base(file), ".yaml")) {
			continue
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// edit changes a text in a file; the text must be there.
func edit(t *testing.T, file, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	if !strings.Contains(string(raw), from) {
		t.Fatalf("%s has no %q any more: fix this test", file, from)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(raw), from, to, 1)), 0o644); err != nil {
		t.Fatalf("write %s: %v", file, err)
	}
}

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
