package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// The first signal cancels the program's context, and is the cause that its exit code comes from. A
// closed terminal and a request for stacks are signals like the others: what is killed leaves its
// cluster behind.
func TestMain_Interrupted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(s.String(), func(t *testing.T) { interrupted(t, s) })
	}
}

func interrupted(t *testing.T, s syscall.Signal) {
	// Under nohup this process ignores SIGHUP, and so does Main then; once somebody wants it, it is not ignored.
	wanted := make(chan os.Signal, 1)
	signal.Notify(wanted, s)
	defer signal.Stop(wanted)
	code := Main(func(ctx context.Context, _ []string, getenv func(string) string, _, _ io.Writer) int {
		if getenv("PATH") != os.Getenv("PATH") {
			t.Error("the program does not have the environment of the process")
		}
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			t.Error("the signal did not cancel the context")
		}
		return CodeOf(context.Cause(ctx))
	})
	if want := reason.SignalBase + int(s); code != want {
		t.Errorf("got code %d, want %d", code, want)
	}
}

func TestBrief(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	Brief(func(string) string { return "100" })
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("got %d in place of the user's own 100", got)
	}
	Brief(func(string) string { return "" })
	if got := debug.SetGCPercent(100); got != 400 {
		t.Errorf("got %d, want 400", got)
	}
}
