package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

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
	var checks []doctorCheck
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
