package host

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// A run that is killed with SIGKILL cannot clean up: the kernel has to.
func TestParentKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), helperEnv+"="+t.TempDir())
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = parent.Process.Kill(); _ = parent.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("read the child's PID: %v", err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !testkit.Running(child) {
		t.Fatal("the child does not run even before its parent is killed")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	testkit.WaitGone(t, child)
}

// What a process starts and leaves behind, in a session of its own or not, ends with it, as in a container, and is
// counted.
func TestLeftBehind(t *testing.T) {
	for name, as := range map[string]string{"its session": "", "its own session": "setsid "} {
		t.Run(name, func(t *testing.T) { testLeftBehind(t, as) })
	}
}

func testLeftBehind(t *testing.T, as string) {
	s := supervisor(t)
	spec := shell(t, "leaves", as+"sh -c 'echo $$ > pid; sleep 1000; true' & while [ ! -s pid ]; do sleep 0.01; done; exit 3")
	spec.Alone, spec.Ends = true, true
	other := shell(t, "other", "exec sleep 1000")
	stays := start(t, s, other)
	p := start(t, s, spec)
	<-p.Done()
	testkit.WaitGone(t, testkit.WaitNumber(t, filepath.Join(spec.Dir, "pid")))
	if p.Left() < 1 || p.ExitCode() != 3 {
		t.Errorf("%d were left behind, and it ended with %d", p.Left(), p.ExitCode())
	}
	if !testkit.Running(stays.PID) {
		t.Error("another process was ended, too")
	}
}

func TestStarts(t *testing.T) {
	dir := t.TempDir()
	sh, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	foreign := slices.Clone(sh)
	foreign[18], foreign[19] = 0xF7, 0 // eBPF
	for want, content := range map[string][]byte{
		"": []byte("#!/bin/sh\n"), "this machine has " + runtime.GOARCH: foreign, "it is no program of Linux": []byte("echo\n"), "it is empty": nil, "a script for /no/such": []byte("#!/no/such\n"), "without an interpreter": []byte("#!\n"), "bad": sh[:40],
	} {
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, content, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := Starts(file); (want == "") != (err == nil) || want != "bad" && err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if err := Starts("/bin/sh"); err != nil {
		t.Error(err)
	}
}
