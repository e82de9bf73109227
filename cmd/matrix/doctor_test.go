package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// doctorCheck is one of those that matrix doctor prints as JSON.
type doctorCheck struct{ Name, Status, Detail, Fix string }

// A machine without a stack and without Go cannot run any cell. matrix doctor says so, and exits
// with the code of such a run.
func TestDoctor_NoGo(t *testing.T) {
	got := invoke(t, nil, "doctor", "-o", "json")
	if got.code != 12 {
		t.Errorf("exit code: got %d, want 12 (TOOLCHAIN_MISSING); stderr:\n%s", got.code, got.stderr)
	}
	var checks []doctorCheck
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
	wantText(t, "table", invoke(t, nil, "doctor").stdout, "missing   stack", "→ install Go", "sandbox")
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

// A cache whose path leaves no room for sockets is said before the kernel says "invalid argument".
func TestDoctor_LongCache(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	got := invokeIn(t.Context(), t, long, nil, "doctor")
	wantText(t, "table", got.stdout, "the cache's path "+long+" has ", "sockets in it leave room for ", "→ set AICR_ACTION_CACHE to a shorter path")
}

// In a checkout of AICR, doctor says what a run would build and which documents it has found, and what is missing for that.
func TestDoctor_AICR(t *testing.T) {
	root, path := t.TempDir(), os.Getenv("PATH")
	for name, text := range map[string]string{
		"go.mod": "module github.com/NVIDIA/aicr\n\ngo 1.24\n\nrequire example.com/none v1.2.3\n", "cmd/aicr/main.go": "package main\n\nfunc main() {}\n",
		"recipes/overlays/base.yaml": "apiVersion: aicr.run/v1beta1\nkind: RecipeMetadata\nmetadata: {name: base}\nspec: {newer: {}}\n",
	} {
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	in := "AICR_ACTION_RECIPES_DIR=" + filepath.Join(root, "recipes")
	wantText(t, "without Go", invoke(t, []string{in}, "doctor").stdout, "missing   AICR", "cmd/aicr, go 1.24,", "1 overlay of aicr.run/v1beta1; PATH has no go", "→ install Go 1.24")
	t.Setenv("PATH", path)
	wantText(t, "with Go", invokeIn(t.Context(), t, t.TempDir(), []string{in}, "doctor").stdout, "AICR            cmd/aicr, go 1.24, 1 module, of which 1 not downloaded", "→ go mod download")
	if err := os.WriteFile(filepath.Join(root, "recipes/overlays/base.yaml"), []byte("a: ["), 0o644); err != nil {
		t.Fatal(err)
	}
	wantText(t, "broken recipes", invoke(t, []string{in}, "doctor").stdout, "missing   AICR", "its recipes cannot be read: ", "→ matrix list recipes")
	if out := invoke(t, nil, "doctor").stdout; strings.Contains(out, "AICR   ") {
		t.Errorf("elsewhere:\n%s", out)
	}
}
