package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// rootWith is a directory with a shell and what it needs, as an image has it.
func rootWith(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	add := func(file string) {
		raw, err := os.ReadFile(file)
		if err != nil {
			testskip.Missing(t, "there is no %s", file)
		}
		to := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, raw, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range programs {
		found, err := exec.LookPath(name)
		if err != nil {
			testskip.Missing(t, "there is no %s", name)
		}
		raw, err := os.ReadFile(found)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, "bin", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, raw, 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("ldd", found).Output()
		if err != nil {
			testskip.Missing(t, "there is no ldd, or %s is linked statically", name)
		}
		for field := range strings.FieldsSeq(string(out)) {
			if strings.HasPrefix(field, "/") {
				add(field)
			}
		}
	}
	return dir
}

func needRoot(t *testing.T) {
	t.Helper()
	if err := CanRoot(); err != nil {
		testskip.Missing(t, "%v", err)
	}
}

func inRoot(t *testing.T, r *Root, script string) (string, error) {
	t.Helper()
	cmd := &exec.Cmd{Path: "sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=/bin"}}
	if err := Wrap(cmd, Profile{Root: r, Overlay: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A process has the image's files as its root, its mounts at their paths, also behind the image's own
// symbolic links, and nothing else of this machine; what it writes is not in the image.
func TestRoot(t *testing.T) {
	needRoot(t)
	root, mounted, scratch := rootWith(t, "sh", "cat", "ls"), t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "var"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/run", filepath.Join(root, "var", "run")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mounted, "token"), []byte("a token"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &Root{Dir: root, WorkDir: "/work", Mounts: []Mount{{Source: mounted, Target: "/var/run/secrets"}, {Source: scratch, Target: "/scratch", Writable: true}}}
	for script, want := range map[string]string{
		"cat /run/secrets/token":                                  "a token",
		"cat " + secret:                                           "No such file",
		"echo x > /run/secrets/new":                               "Read-only file system",
		"echo x > /scratch/new && cat /scratch/new":               "x",
		"echo x > /bin/new && echo y > /top && cat /bin/new /top": "x\ny",
		"pwd":                                    "/work",
		"echo $$":                                "1",
		"ls -d /proc/[0-9]*":                     "/proc/1",
		"echo x > /proc/sys/kernel/core_pattern": "Read-only file system",
		"echo x > /dev/null":                     "",
	} {
		out, err := inRoot(t, r, script)
		if !strings.Contains(out, want) || want == "" && err != nil {
			t.Errorf("%s: got %q, %v, want %q", script, out, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "new")); !os.IsNotExist(err) {
		t.Errorf("the image was changed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(scratch, "new")); err != nil {
		t.Errorf("what was written to a writable mount: %v", err)
	}
	r.ReadOnly = true
	if out, err := inRoot(t, r, "echo x > /bin/new"); err == nil || !strings.Contains(out, "Read-only file system") {
		t.Errorf("a read-only root: %q, %v", out, err)
	}
}

// A program that the image does not have is named, and one that leaves something behind does not: all
// that it starts ends with it.
func TestRoot_Ends(t *testing.T) {
	needRoot(t)
	root := rootWith(t, "sh", "sleep")
	cmd := &exec.Cmd{Path: "/manager", Args: []string{"/manager"}, Env: []string{"PATH=/bin"}}
	if err := Wrap(cmd, Profile{Root: &Root{Dir: root}, Overlay: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "the image has no program /manager") {
		t.Errorf("got %q, %v", out, err)
	}
	pipe, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	unique := fmt.Sprintf("4711.%d", os.Getpid()) // no other test's
	leaves := &exec.Cmd{Path: "sh", Args: []string{"sh", "-c", "sleep " + unique + " & exit 0"}, Env: []string{"PATH=/bin"}, Stdout: pipe, Stderr: pipe}
	if err := Wrap(leaves, Profile{Root: &Root{Dir: root}, Overlay: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if err := leaves.Run(); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if !running(unique) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("a process that the program started is left")
}

func running(argument string) bool {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return false
	}
	for _, file := range all {
		if raw, err := os.ReadFile(file); err == nil && strings.Contains(string(raw), "sleep\x00"+argument) {
			return true
		}
	}
	return false
}

// An ordinary user gives a process another root by namespaces of its own, where the kernel allows it:
// root runs the tests above once more as such a user.
func TestRoot_User(t *testing.T) {
	if os.Geteuid() != 0 {
		return // they were run so
	}
	const user = 65534
	dir, err := os.MkdirTemp("", "root-user") // t.TempDir is root's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "tests")
	if err := errors.Join(os.WriteFile(program, self, 0o755), os.Chown(dir, user, user)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", "^TestRoot(_Ends|_NoSuchDirectory)?$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS")+strings.Count(string(out), "--- SKIP") != 3 {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

func TestRoot_NoSuchDirectory(t *testing.T) {
	needRoot(t)
	cmd := &exec.Cmd{Path: "sh", Args: []string{"sh"}}
	if err := Wrap(cmd, Profile{Root: &Root{Dir: filepath.Join(t.TempDir(), "gone")}, Overlay: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "mount an overlay over the image") {
		t.Errorf("got %q, %v", out, err)
	}
}
