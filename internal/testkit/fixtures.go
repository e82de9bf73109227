package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Edit changes a text in a file; the text must be there.
func Edit(t *testing.T, file, from, to string) {
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

// RecipesCopy is the recipes of March, of the project whose directory is root, in a directory of the test's own, for it to break.
func RecipesCopy(t *testing.T, root string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recipes")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "test", "recipes-march"))); err != nil {
		t.Fatalf("copy the recipes: %v", err)
	}
	return dir
}

// FewRecipes is a RecipesCopy with four overlays only: base, eks, eks-training and monitoring-hpa.
// What is checked of the machinery with it stays the same when the set grows.
func FewRecipes(t *testing.T, root string) string {
	t.Helper()
	dir := RecipesCopy(t, root)
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

// Git runs git in a directory, as somebody, and returns what it prints.
// Git runs git in dir, with the author's name of a test.
func Git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// StepOutputs reads a file of step outputs; of a name that is there twice, the last value counts.
func StepOutputs(t *testing.T, file string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for text := string(raw); text != ""; {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if name, end, heredoc := strings.Cut(line, "<<"); heredoc {
			value, rest, ok := strings.Cut(text, "\n"+end+"\n")
			if !ok {
				t.Fatalf("no end of %s in\n%s", name, raw)
			}
			got[name], text = value, rest
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}
	return got
}

// WantFile fails unless a file has every part.
func WantFile(t *testing.T, file string, parts ...string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	WantText(t, file, string(raw), parts...)
}
