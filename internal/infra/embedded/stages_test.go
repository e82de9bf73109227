package embedded

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A stage of our own takes the place of kwokctl's of the same name, and what is no stage stays.
func TestAddStages(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kwok.yaml")
	have := "kind: KwokctlConfiguration\nmetadata:\n  name: pod-complete\n---\nkind: Stage\nmetadata:\n  name: pod-ready\n---\nkind: Stage\nmetadata:\n  name: pod-complete\nspec: theirs\n"
	if err := os.WriteFile(file, []byte(have), 0o644); err != nil {
		t.Fatal(err)
	}
	c := &ControlPlane{dir: dir, stages: []byte("---\n# ours\nkind: Stage\nmetadata:\n  name: pod-complete\nspec: ours\n---\nkind: Stage\nmetadata:\n  name: extra\n")}
	if err := c.addStages(); err != nil {
		t.Fatal(err)
	}
	names, err := StageNames(dir)
	if want := []string{"pod-ready", "pod-complete", "extra"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %q, %v; want %q", names, err, want)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(raw); strings.Contains(text, "theirs") || !strings.Contains(text, "spec: ours") || !strings.Contains(text, "KwokctlConfiguration") {
		t.Errorf("got\n%s", text)
	}
}
