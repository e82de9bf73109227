package reports

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
)

// A directory of debug artifacts, its parent, and the file itself all lead to the snapshot.
func TestFindSnapshot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "out [1]") // no pattern
	file := filepath.Join(root, "kwok-debug-red", "red"+clusterstate.FileSuffix)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{root, filepath.Dir(file), file} {
		if got, err := findSnapshot(path); err != nil || got != file {
			t.Errorf("%s: got %s, %v; want %s", path, got, err, file)
		}
	}
}
