package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// shell is the spec of a process that runs a script.
func shell(t *testing.T, name, script string) ProcessSpec {
	dir := t.TempDir()
	return ProcessSpec{Name: name, Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Log: filepath.Join(dir, "logs", name+".log")}
}

func start(t *testing.T, s *Supervisor, spec ProcessSpec) *Process {
	t.Helper()
	p, err := s.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func supervisor(t *testing.T) *Supervisor {
	s := NewSupervisor()
	t.Cleanup(func() { s.Close(0) })
	return s
}

func TestClose_WholeGroup(t *testing.T) {
	for _, test := range []struct {
		name, script string
		grace        time.Duration
	}{
		{"killed at once", "sleep 1000 & echo $! > pid; wait", 0},
		{"asked first", "sleep 1000 & echo $! > pid; wait", 5 * time.Second},
		// The leader ends when asked, what it started does not.
		{"a grandchild that ignores SIGTERM", "(trap '' TERM; exec sleep 1000) & echo $! > pid; wait", 5 * time.Second},
		{"a leader that ignores SIGTERM", "trap '' TERM; sleep 1000 & echo $! > pid; wait", 100 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := NewSupervisor()
			spec := shell(t, "leader", test.script)
			p := start(t, s, spec)
			grandchild := testkit.WaitNumber(t, filepath.Join(spec.Dir, "pid"))
			s.Close(test.grace)
			testkit.WaitGone(t, p.PID, grandchild)
			s.Close(0) // a second time is harmless
		})
	}
}

// When the leader of a group dies, its remaining processes are killed too.
func TestDeath_LeaderOfGroup(t *testing.T) {
	s := supervisor(t)
	spec := shell(t, "leader", "sleep 1000 & echo $! > pid; exit 1")
	p := start(t, s, spec)
	grandchild := testkit.WaitNumber(t, filepath.Join(spec.Dir, "pid"))
	<-p.Done()
	testkit.WaitGone(t, grandchild)
}

func TestDeath_Reported(t *testing.T) {
	for _, test := range []struct {
		name, script, cause string
		tail                []string
	}{
		{"failure", "for i in 1 2 3 4 5 6; do echo line $i; done; echo boom >&2; exit 3", "exit status 3", []string{"line 3", "line 4", "line 5", "line 6", "boom"}},
		{"success is unexpected too", "echo bye", "exit status 0", []string{"bye"}},
		{"signal", "kill -9 $$", "signal: killed", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := supervisor(t)
			spec := shell(t, "kube-apiserver", test.script)
			start(t, s, spec)
			died := nextDeath(t, s)
			if died.Name != "kube-apiserver" || died.Reason != reason.ComponentDied || died.Log != spec.Log || died.Err.Error() != test.cause || !slices.Equal(died.Tail, test.tail) {
				t.Errorf("got %+v", died)
			}
			for _, part := range append([]string{"kube-apiserver ended unexpectedly", test.cause, spec.Log}, testkit.Last(test.tail)...) {
				if !strings.Contains(died.Error(), part) {
					t.Errorf("%q lacks %q", died, part)
				}
			}
			if s.Process("kube-apiserver") != nil {
				t.Error("a process that has ended counts as running")
			}
		})
	}
}

// The death of a program that is no part of the stack has a different reason.
func TestDeath_Reason(t *testing.T) {
	s := supervisor(t)
	spec := shell(t, "controller", "exit 1")
	spec.Death = reason.SchedulerFailed
	start(t, s, spec)
	if d := nextDeath(t, s); d.Reason != reason.SchedulerFailed {
		t.Errorf("got %s", d.Reason)
	}
}

func nextDeath(t *testing.T, s *Supervisor) *infra.DeathError {
	t.Helper()
	select {
	case d := <-s.Died():
		return d
	case <-time.After(time.Minute):
		t.Fatal("no death was reported")
		return nil
	}
}

func TestStop_NoDeath(t *testing.T) {
	s := supervisor(t)
	for _, grace := range []time.Duration{0, 5 * time.Second} {
		p := start(t, s, shell(t, "asked", "exec sleep 1000"))
		p.Stop(grace)
		p.Stop(grace) // a second time is harmless
		if testkit.Running(p.PID) {
			t.Error("it runs after Stop")
		}
	}
	start(t, s, shell(t, "fell", "exit 1"))
	if d := nextDeath(t, s); d.Name != "fell" {
		t.Errorf("reported %v", d)
	}
	select {
	case d := <-s.Died():
		t.Errorf("reported %v as well", d)
	default:
	}
}

func TestClose_DetachedProcess(t *testing.T) {
	s := NewSupervisor()
	spec := shell(t, "stays", "exec sleep 1000")
	spec.Detach = true
	p := start(t, s, spec)
	t.Cleanup(func() { p.Stop(0) })
	s.Close(0)
	if !testkit.Running(p.PID) {
		t.Fatal("Close ended a detached process")
	}
	if sid, err := getsid(p.PID); err != nil || sid != p.PID {
		t.Errorf("session %d, %v; want one of its own, or a hangup of the terminal ends it", sid, err)
	}
}

// getsid: package syscall lacks it on Linux.
func getsid(pid int) (int, error) {
	sid, _, errno := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sid), nil
}

func TestStart_ErrorNamesComponent(t *testing.T) {
	closed := NewSupervisor()
	closed.Close(0)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ok := shell(t, "etcd", "exit 0")
	noProgram, noLog := ok, ok
	noProgram.Path = filepath.Join(t.TempDir(), "absent")
	noLog.Log = filepath.Join(file, "x.log")
	for _, test := range []struct {
		name string
		sup  *Supervisor
		spec ProcessSpec
		want string
	}{
		{"no such program", supervisor(t), noProgram, "no such file"},
		{"log cannot be written", supervisor(t), noLog, "not a directory"},
		{"run is ending", closed, ok, "the run is ending"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.sup.Start(test.spec)
			if err == nil || !strings.Contains(err.Error(), "etcd") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want etcd and %q", err, test.want)
			}
		})
	}
}

func TestTail(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	for _, test := range []struct {
		name, content string
		n             int
		want          []string
	}{
		{"empty", "", 3, nil},
		{"fewer", "a\nb\n", 3, []string{"a", "b"}},
		{"more", "a\nb\nc\nd\n", 2, []string{"c", "d"}},
		{"blank lines do not count", "a\n\n  \nb\n\n\n", 2, []string{"a", "b"}},
		{"no end of line", "a\nb", 1, []string{"b"}},
		{"a cut line is left out", long + "\nend\n", 5, []string{"end"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(file, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := Tail(file, test.n); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := Tail(filepath.Join(t.TempDir(), "absent"), 3); got != nil {
		t.Errorf("got %q of a file that is not there", got)
	}
}

func TestRunCommand(t *testing.T) {
	out, err := RunCommand(t.Context(), t.TempDir(), []string{"GREETING=hello"}, "/bin/sh", "-c", "echo $GREETING")
	if err != nil || out != "hello\n" {
		t.Errorf("got %q, %v", out, err)
	}
	_, err = RunCommand(t.Context(), "", nil, "/bin/sh", "-c", "echo out; echo wrong >&2; exit 4")
	for _, part := range []string{"/bin/sh -c", "exit status 4", "wrong"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v lacks %q", err, part)
		}
	}
	why := errors.New("interrupted by a test")
	ctx, cancel := context.WithCancelCause(t.Context())
	pid := filepath.Join(t.TempDir(), "pid")
	ended := make(chan error, 1)
	go func() {
		_, err := RunCommand(ctx, "", nil, "/bin/sh", "-c", "sleep 1000 & echo $! > "+pid+"; wait")
		ended <- err
	}()
	grandchild := testkit.WaitNumber(t, pid)
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("got %v, want the cause of the cancellation", err)
	}
	testkit.WaitGone(t, grandchild)
}

// A component that is no process has its death delivered in the same way.
func TestReport(t *testing.T) {
	s := NewSupervisor()
	defer s.Close(0)
	for range 100 { // more than the channel holds
		s.Report(&infra.DeathError{Name: "proxy"})
	}
	if death := <-s.Died(); death.Name != "proxy" {
		t.Errorf("got %v", death)
	}
}

// What ended processes took is summed by name; those that run are not in it yet.
func TestUses(t *testing.T) {
	s := supervisor(t)
	const busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
	<-start(t, s, shell(t, "busy", busy)).Done()
	once := s.Uses()
	<-start(t, s, shell(t, "busy", "sh -c '"+busy+"'; true")).Done() // a child that it waits for counts too
	idle := start(t, s, shell(t, "idle", "sleep 1000"))
	twice := s.Uses()
	if len(once) != 1 || len(twice) != 1 || once[0].Name != "busy" {
		t.Fatalf("got %+v, then %+v", once, twice)
	}
	if once[0].CPU <= 0 || twice[0].CPU < once[0].CPU*5/4 {
		t.Errorf("CPU time %s after one, %s after two of the same", once[0].CPU, twice[0].CPU)
	}
	idle.Stop(0)
	if all := s.Uses(); len(all) != 2 || all[1].Name != "idle" {
		t.Errorf("got %+v, want both names", all)
	}
}

// The memory of this program, of which a process is a copy until it becomes its own program, is not
// the process's.
func TestUses_OwnMemory(t *testing.T) {
	ours := make([]byte, 256<<20)
	for i := 0; i < len(ours); i += 4096 {
		ours[i] = 1
	}
	s := supervisor(t)
	small := start(t, s, shell(t, "small", "exec sleep 1000"))
	<-start(t, s, shell(t, "ends", "exit 0")).Done()
	big := shell(t, "big", "")
	big.Path, big.Args, big.Ends = "/bin/dd", []string{"if=/dev/zero", "of=/dev/null", "bs=600M", "count=1"}, true
	<-start(t, s, big).Done()
	small.Stop(0)
	runtime.KeepAlive(ours)
	peaks := map[string]int64{}
	for _, u := range s.Uses() {
		peaks[u.Name] = u.Peak
	}
	if got := peaks["small"]; got < 100<<10 || got > 64<<20 {
		t.Errorf("sleep took %d bytes at most", got)
	}
	if got := peaks["ends"]; got > 64<<20 {
		t.Errorf("a shell that ended at once took %d bytes at most", got)
	}
	if got := peaks["big"]; got < 600<<20 || got > 700<<20 {
		t.Errorf("dd with a block of 600 MiB took %d bytes at most", got)
	}
}
