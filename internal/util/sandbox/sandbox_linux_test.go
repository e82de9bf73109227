package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

func TestSupport(t *testing.T) {
	for v, want := range map[int]string{
		0: "none: the kernel has no Landlock, or it is off",
		1: "none: the kernel's Landlock is too old (ABI 1; ABI 2 is needed)",
		3: "landlock ABI 3: files",
		4: "landlock ABI 4: files, TCP ports",
		7: "landlock ABI 7: files, TCP ports, signals",
	} {
		if got := support(v); got != want {
			t.Errorf("ABI %d: got %q, want %q", v, got, want)
		}
	}
}

// What cannot be started is refused by the caller's call, not later by the process in between.
func TestWrap_MissingPath(t *testing.T) {
	if err := Wrap(&exec.Cmd{Path: "/no/such/program", Args: []string{"x"}}, Profile{}); (err != nil) != available() {
		t.Errorf("got %v", err)
	}
}

// A process sees a directory at a path that this machine does not have, and this machine has
// nothing of it.
func TestBinds(t *testing.T) {
	if !CanBind() {
		testskip.Missing(t, "it takes root, Landlock and overlays")
	}
	source, overlay := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "token"), []byte("a token"), 0o600); err != nil {
		t.Fatal(err)
	}
	const target = "/var/run/aicr-test-of-binds/a"
	cat, err := exec.LookPath("cat")
	if err != nil {
		testskip.Missing(t, "there is no cat")
	}
	run := func(file string) (string, error) {
		cmd := exec.Command(cat, file)
		p := Profile{Binds: []Bind{{source, target}}, Overlay: overlay, Execute: []string{"/bin", "/usr/bin", "/lib", "/lib64", "/usr/lib", "/usr/lib64"}, Read: []string{"/etc/ld.so.cache"}}
		if err := Wrap(cmd, p); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(target + "/token"); err != nil || out != "a token" {
		t.Errorf("got %q, %v", out, err)
	}
	beside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(beside, []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(beside); err == nil {
		t.Errorf("what is not in the profile can be read: %q", out)
	}
	if _, err := os.Stat(filepath.Dir(target)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left on this machine: %v", err)
	}
}
