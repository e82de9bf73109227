package cli

import (
	"context"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

// The first signal cancels the program's context, and is the cause that its exit code comes from.
func TestMain_Interrupted(t *testing.T) {
	code := Main(func(ctx context.Context, _ []string, getenv func(string) string, _, _ io.Writer) int {
		if getenv("PATH") != os.Getenv("PATH") {
			t.Error("the program does not have the environment of the process")
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(30 * time.Second):
			t.Error("the signal did not cancel the context")
		}
		return CodeOf(context.Cause(ctx))
	})
	if code != 143 {
		t.Errorf("got code %d, want 143", code)
	}
}
