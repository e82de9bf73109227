package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// A machine without a stack and without Go cannot run anything, and is told so with the code that a run would end with.
func TestDoctorWithoutGo(t *testing.T) {
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
	for name, test := range map[string]struct{ content, status, fix string }{
		"plenty": {"MemTotal: 1 kB\nMemAvailable:   67108864 kB\n", "ok", ""},
		"little": {"MemAvailable: 1048576 kB\n", "note", "matrix run --parallel 1"},
		"odd":    {"MemAvailable: much\n", "note", ""},
	} {
		file := filepath.Join(t.TempDir(), "meminfo")
		if err := os.WriteFile(file, []byte(test.content), 0o644); err != nil {
			t.Fatal(err)
		}
		if c := checkMemory(file); c.Status != test.status || c.Fix != test.fix {
			t.Errorf("%s: got %+v, want %+v", name, c, test)
		}
	}
	if c := checkMemory("absent"); c.Status != "note" {
		t.Errorf("no such file: got %+v", c)
	}
}

// A machine without a sandbox can run, and is told for whose recipes that is not enough.
func TestDoctorSandbox(t *testing.T) {
	if c := checkSandbox("landlock ABI 4: files, TCP ports"); c.Status != "ok" || c.Detail != "landlock ABI 4: files, TCP ports" || c.Fix != "" {
		t.Errorf("got %+v", c)
	}
	if c := checkSandbox("none: macOS has no Landlock"); c.Status != "note" || c.Fix == "" {
		t.Errorf("got %+v", c)
	}
	wantText(t, "table", invoke(t, nil, "doctor").stdout, "sandbox")
}
