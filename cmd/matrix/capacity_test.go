package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// TestCapacity: how many cells run at a time, for machines as GitHub and others have them. It is
// the only part of a run that was looked at for macOS.
func TestCapacity(t *testing.T) {
	const gb = 1000 * 1000 * 1000
	for name, test := range map[string]struct {
		machine     capacity
		cells, kind int
	}{
		"GitHub's Linux, public":         {capacity{4, 15 * gb, true}, 4, 1},
		"GitHub's Linux, private":        {capacity{2, 7 * gb, true}, 2, 1},
		"GitHub's macOS, 3 cores, 7 GB":  {capacity{3, 0, false}, 2, 1},
		"a Mac with many cores":          {capacity{12, 0, false}, 2, 2},
		"a container with one core":      {capacity{1, 60 * gb, true}, 1, 1},
		"a container with 4 GB":          {capacity{64, 4 * gb, true}, 2, 2},
		"a container with 1 GB":          {capacity{64, gb, true}, 1, 1},
		"a large machine":                {capacity{64, 256 * gb, true}, 4, 16},
		"a large one with little memory": {capacity{64, 8 * gb, true}, 4, 5},
	} {
		if cells, kind := test.machine.cells(platforms()[0].limits, schedule.FootprintCell), test.machine.cells(platforms()[1].limits, schedule.FootprintCell); cells != test.cells || kind != test.kind {
			t.Errorf("%s: %d cells at a time, %d in Kind clusters, want %d and %d", name, cells, kind, test.cells, test.kind)
		}
	}
}

func TestCoresOf(t *testing.T) {
	for _, test := range []struct {
		processors int
		limit      float64
		limited    bool
		want       int
	}{{8, 0, false, 8}, {8, 1, true, 1}, {8, 0.2, true, 1}, {8, 1.5, true, 2}, {8, 2.4, true, 2}, {4, 16, true, 4}} {
		if got := coresOf(test.processors, test.limit, test.limited); got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}

// TestControlGroup: the program itself in a group with a limit of one core and 2 GiB. Both versions
// of control groups are looked for.
func TestControlGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		testskip.Missing(t, "only root can make a control group")
	}
	name := "aicr-test-" + strconv.Itoa(os.Getpid())
	var groups []string
	limit := func(at, file, value string) bool {
		dir := filepath.Join("/sys/fs/cgroup", at, name)
		if err := os.Mkdir(dir, 0o755); err == nil {
			groups = append(groups, dir)
			t.Cleanup(func() { _ = os.Remove(dir) }) // empty once the program has ended
		}
		_, err := os.Stat(filepath.Join(dir, file))
		return err == nil && os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644) == nil
	}
	cpu := limit("cpu", "cpu.cfs_quota_us", "100000") || limit("", "cpu.max", "100000 100000")
	memory := limit("memory", "memory.limit_in_bytes", "2147483648") || limit("", "memory.max", "2147483648")
	if !cpu || !memory {
		testskip.Missing(t, "this machine lets no control group be made")
	}
	// A shell joins the groups, and then becomes the program.
	script := ""
	for _, dir := range groups {
		script += "echo $$ > " + dir + "/cgroup.procs && "
	}
	cmd := exec.Command("sh", "-c", script+`exec "$0" doctor -o json`, buildProgram(t))
	cmd.Env = append(os.Environ(), "AICR_ACTION_CACHE="+t.TempDir(), "GOMAXPROCS=")
	out, err := cmd.Output()
	var checks []check
	if jsonErr := json.Unmarshal(out, &checks); jsonErr != nil {
		t.Fatalf("%v, %v\n%s", err, jsonErr, out)
	}
	detail := map[string]string{}
	for _, c := range checks {
		detail[c.Name] = c.Detail
	}
	if !strings.HasSuffix(detail["platform"], ", 1 core: 1 cell at a time") || !strings.HasSuffix(detail["memory"], "enough for 1 cell at a time") {
		t.Errorf("platform %q, memory %q; want one core, and memory for one cell", detail["platform"], detail["memory"])
	}
}
