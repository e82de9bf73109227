//go:build nightly

package action_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// TestNightlyReleaseTry rehearses a release: its files for this platform, packed from the real stack,
// run the recipe eks through four lanes on a machine without the source.
func TestNightlyReleaseTry(t *testing.T) {
	t.Parallel()
	paths := infratest.Cache(t)
	program := filepath.Join(t.TempDir(), "matrix")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w -X main.released="+pinnedVersion, "-o", program, "./cmd/matrix").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s, w := releaseRun(t, program, paths.Root, "build", "try")
	s.cancel = func(job string, _ map[string]string) bool {
		if job == "try" { // what is before it is compressing, which needs no room of a cell's
			infratest.Slots(t, 1)
		}
		return false
	}
	s.temp = infratest.ShortTempDir(t) // the clusters' sockets are below it
	s.env = append(s.env, "KWOK_SCHEDULING_TIMEOUT=400")
	s.jobs(w)
	const want = "4 passed"
	if s.results["build"] != "success" || s.results["try"] != "success" || !strings.Contains(s.log.String(), want) {
		t.Errorf("jobs %v, want %s in\n%s", s.results, want, s.log.String())
	}
}
