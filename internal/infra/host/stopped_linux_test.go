package host

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A process that stays stopped is reported by its name, like one that has ended. One that goes on
// after a moment is not.
func TestStopped(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	signal := func(p *Process, sig syscall.Signal) {
		if err := syscall.Kill(p.PID, sig); err != nil {
			t.Fatal(err)
		}
	}
	pauses := start(t, s, shell(t, "pauses", "exec sleep 1000"))
	signal(pauses, syscall.SIGSTOP)
	time.AfterFunc(2*stoppedEvery, func() { _ = syscall.Kill(pauses.PID, syscall.SIGCONT) })
	stays := start(t, s, shell(t, "stays", "exec sleep 1000"))
	signal(stays, syscall.SIGSTOP)
	select {
	case d := <-s.Died():
		if d.Name != "stays" || d.Reason != reason.ComponentDied || !strings.Contains(d.Error(), "stopped by a signal") {
			t.Errorf("got %v", d)
		}
	case <-time.After(stoppedFor + 10*time.Second):
		t.Fatal("no process was reported")
	}
	select {
	case d := <-s.Died():
		t.Errorf("reported %v as well", d)
	case <-time.After(2 * stoppedEvery):
	}
}
