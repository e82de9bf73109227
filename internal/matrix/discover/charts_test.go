package discover

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// The names of charts are read from a pull request's files: a link must not lead to others, or to a
// device that never ends, and a large file is not read.
func TestCharts_Links(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write := func(text string, path ...string) {
		t.Helper()
		file := filepath.Join(path...)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("name: secret\n", outside, "Chart.yaml")
	write("name: fine\n", dir, "a", "Chart.yaml")
	for name, to := range map[string]string{"zero": "/dev/zero", "outside": filepath.Join(outside, "Chart.yaml")} {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, name), 0o755), os.Symlink(to, filepath.Join(dir, name, "Chart.yaml"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "directory")); err != nil {
		t.Fatal(err)
	}
	write("name: large\n", dir, "large", "Chart.yaml")
	if err := os.Truncate(filepath.Join(dir, "large", "Chart.yaml"), 1<<30); err != nil {
		t.Fatal(err)
	}
	if got := chartNames(dir); !maps.Equal(got, map[string]string{"a": "fine"}) {
		t.Errorf("got %v", got)
	}
}
