package main

import (
	"encoding/json"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/matrix/schedule"
)

// A machine without a stack and without Go cannot run any cell. matrix doctor says so, and exits
// with the code of such a run.
func TestDoctor_NoGo(t *testing.T) {
	got := invoke(t, nil, "doctor", "-o", "json")
	if got.code != 12 {
		t.Errorf("exit code: got %d, want 12 (TOOLCHAIN_MISSING); stderr:\n%s", got.code, got.stderr)
	}
	var checks []check
	if err := json.Unmarshal([]byte(got.stdout), &checks); err != nil {
		t.Fatalf("read the checks: %v\n%s", err, got.stdout)
	}
	status := map[string]string{}
	for _, c := range checks {
		status[c.Name] = c.Status
		if c.Status == "missing" && c.Fix == "" {
			t.Errorf("%s is missing, and nobody says how to get it", c.Name)
		}
	}
	if status["stack"] != "missing" || status["git"] != "note" || status["leftovers"] != "ok" {
		t.Errorf("got %v; PATH is empty, so there is no go and no git", status)
	}
	wantText(t, "table", invoke(t, nil, "doctor").stdout, "missing   stack", "→ install Go")
}

func TestDoctorPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	taken := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	wantText(t, "table", invoke(t, []string{"KWOK_REGISTRY_HOST_PORT=" + taken}, "doctor").stdout, "missing   registry port", taken, "unset KWOK_REGISTRY_HOST_PORT")
}

func TestDoctorMemory(t *testing.T) {
	for name, test := range map[string]struct {
		m                   capacity
		status, detail, fix string
	}{
		"plenty":      {capacity{4, 64 << 30, true}, "ok", "enough for 43 cells at a time", ""},
		"for one":     {capacity{4, 2 << 30, true}, "note", "enough for 1 cell at a time; there are cores for 4", ""},
		"for none":    {capacity{2, 1 << 30, true}, "note", "enough for 0 cells", "raise the limit of the container"},
		"few cores":   {capacity{1, 2 << 30, true}, "ok", "enough for 1 cell at a time", ""},
		"no such tip": {capacity{3, 0, false}, "note", "unknown on this system, so that at most 2 cells", ""},
	} {
		if c := checkMemory(test.m, schedule.FootprintCell); c.Status != test.status || !strings.Contains(c.Detail, test.detail) || !strings.Contains(c.Fix, test.fix) || (c.Fix == "") != (test.fix == "") {
			t.Errorf("%s: got %+v, want %+v", name, c, test)
		}
	}
}

// A machine without a sandbox can run cells. matrix doctor says for which recipes that is not safe.
func TestDoctorSandbox(t *testing.T) {
	if c := checkSandbox("landlock ABI 4: files, TCP ports"); c.Status != "ok" || c.Detail != "landlock ABI 4: files, TCP ports" || c.Fix != "" {
		t.Errorf("got %+v", c)
	}
	if c := checkSandbox("none: macOS has no Landlock"); c.Status != "note" || c.Fix == "" {
		t.Errorf("got %+v", c)
	}
	wantText(t, "table", invoke(t, nil, "doctor").stdout, "sandbox")
}

func TestDoctorHugePages(t *testing.T) {
	for text, want := range map[string]check{
		"always [madvise] never\n": {Status: "note", Detail: "transparent_hugepage is madvise; with always", Fix: "echo always > /sys/kernel/mm/transparent_hugepage/enabled"},
		"always madvise [never]\n": {Status: "note", Detail: "transparent_hugepage is never; with always", Fix: "as root: "},
		"[always] madvise never\n": {Status: "ok", Detail: "transparent_hugepage is always"},
	} {
		c, ok := checkPages(fstest.MapFS{hugePages: {Data: []byte(text)}})
		if !ok || c.Status != want.Status || !strings.Contains(c.Detail, want.Detail) || !strings.Contains(c.Fix, want.Fix) || (c.Fix == "") != (want.Fix == "") {
			t.Errorf("%q: got %+v, %v, want %+v", text, c, ok, want)
		}
	}
	for name, root := range map[string]fstest.MapFS{"no such file": {}, "nothing in force": {hugePages: {Data: []byte("always madvise never")}}} {
		if c, ok := checkPages(root); ok {
			t.Errorf("%s: got %+v, want no check", name, c)
		}
	}
}

// A cache whose path leaves no room for sockets is said before the kernel says "invalid argument".
func TestDoctor_LongCache(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	got := invokeIn(t.Context(), t, long, nil, "doctor")
	wantText(t, "table", got.stdout, "the cache's path "+long+" has ", "sockets in it leave room for ", "→ set AICR_ACTION_CACHE to a shorter path")
}
