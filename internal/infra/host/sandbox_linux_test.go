package host

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// zoneEnv makes the test binary write what Go says of a time zone.
const zoneEnv = "AICR_ACTION_TEST_ZONE"

func init() {
	if zone := os.Getenv(zoneEnv); zone != "" {
		_, err := time.LoadLocation(zone)
		_ = os.WriteFile("zone.part", fmt.Appendln(nil, err), 0o600)
		_ = os.Rename("zone.part", "zone")
		os.Exit(0)
	}
}

// A time zone that does not exist is called unknown in the sandbox too: Go looks for it in its own
// directory at last, which the sandbox hides.
func TestSandbox_TimeZone(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for zone, want := range map[string]string{"Mars/Phobos": "unknown time zone Mars/Phobos", "UTC": "<nil>"} {
		dir := t.TempDir()
		start(t, supervisor(t), ProcessSpec{Name: "kube-apiserver", Path: self, Dir: dir, Log: filepath.Join(dir, "log"), Ends: true, Env: []string{zoneEnv + "=" + zone}, Sandbox: &sandbox.Profile{}})
		if got := strings.TrimSpace(waitFile(t, filepath.Join(dir, "zone"))); got != want {
			t.Errorf("%s: got %q, want %q", zone, got, want)
		}
	}
}

// enforces: the tests hold on every kernel; they expect of it what it says that it can do.
func enforces(what string) bool { return strings.Contains(sandbox.Support(), what) }

// confined is a shell in a sandbox, with the machine's programs to run.
func confined(t *testing.T, script string, p sandbox.Profile) ProcessSpec {
	spec := shell(t, "child", script)
	for _, dir := range []string{"/bin", "/usr/bin", "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			p.Execute = append(p.Execute, dir)
		} else if err == nil {
			p.Read = append(p.Read, dir)
		}
	}
	spec.Sandbox = &p
	return spec
}

// A process in a sandbox reads and writes its own directories and nothing of the user's; where the
// kernel has no Landlock it still runs.
func TestSandbox_Files(t *testing.T) {
	private, shown := t.TempDir(), t.TempDir()
	for _, dir := range []string{private, shown} {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("hello\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := supervisor(t)
	script := `try() { if "$@" >>out 2>&1; then echo yes; else echo no; fi; }
{ echo private $(try cat ` + private + `/file)
echo shown $(try cat ` + shown + `/file)
echo into-shown $(try touch ` + shown + `/new)
echo into-private $(try touch ` + private + `/new)
echo own $(try touch own)
echo moved $(mkdir sub; try mv own sub/own)
echo parent $(try cat /proc/$PPID/environ)
echo profile $(env | grep -q ReadWrite && echo set || echo unset); } > got.part; mv got.part got; exec sleep 100`
	spec := confined(t, script, sandbox.Profile{Read: []string{shown}})
	start(t, s, spec)
	got := waitFile(t, filepath.Join(spec.Dir, "got"))
	refused := "no"
	if !enforces("files") {
		refused = "yes"
	}
	want := "private " + refused + "\nshown yes\ninto-shown " + refused + "\ninto-private " + refused + "\nown yes\nmoved yes\nparent " + refused + "\nprofile unset\n"
	if got != want {
		t.Errorf("with %s: got\n%swant\n%s", sandbox.Support(), got, want)
	}
}

// No process in the sandbox can start a program that is not in an executable directory.
func TestSandbox_Programs(t *testing.T) {
	spec := shell(t, "child", "true")
	dir := t.TempDir()
	raw, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	spec.Path = filepath.Join(dir, "sh")
	if err := os.WriteFile(spec.Path, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	spec.Sandbox = &sandbox.Profile{}
	start(t, supervisor(t), spec) // a dynamic program: its loader may not be read
	spec = confined(t, filepath.Join(dir, "sh")+" -c 'echo ran > ran'; echo done > got; exec sleep 100", sandbox.Profile{})
	start(t, supervisor(t), spec)
	waitFile(t, filepath.Join(spec.Dir, "got"))
	if _, err := os.Stat(filepath.Join(spec.Dir, "ran")); (err != nil) != enforces("files") {
		t.Errorf("with %s a program outside of the sandbox: %v", sandbox.Support(), err)
	}
}

// A process in a sandbox dials the ports of its profile and no others, by bash or by anything.
func TestSandbox_Ports(t *testing.T) {
	var ports []int
	dialled := make(chan int, 10)
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		port := l.Addr().(*net.TCPAddr).Port
		ports = append(ports, port)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				dialled <- port
				_ = c.Close()
			}
		}()
	}
	script := "for p in " + strconv.Itoa(ports[0]) + " " + strconv.Itoa(ports[1]) + `; do bash -c "exec 3<>/dev/tcp/127.0.0.1/$p" && echo $p yes || echo $p no; done > got.part; mv got.part got; exec sleep 100`
	spec := confined(t, script, sandbox.Profile{Connect: ports[:1]})
	start(t, supervisor(t), spec)
	got := waitFile(t, filepath.Join(spec.Dir, "got"))
	want := "no"
	if !enforces("TCP ports") {
		want = "yes"
	}
	if got != strconv.Itoa(ports[0])+" yes\n"+strconv.Itoa(ports[1])+" "+want+"\n" {
		t.Errorf("with %s: got %q", sandbox.Support(), got)
	}
}

// Between the start and the program there is a process of this program: a signal to the group must
// still reach what it becomes.
func TestSandbox_Signal(t *testing.T) {
	s := NewSupervisor()
	spec := confined(t, "sleep 1000 & echo $! > pid; wait", sandbox.Profile{})
	p := start(t, s, spec)
	grandchild := testkit.WaitNumber(t, filepath.Join(spec.Dir, "pid"))
	s.Close(0)
	testkit.WaitGone(t, p.PID, grandchild)
}
