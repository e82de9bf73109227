package cli

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

func TestCodeOf(t *testing.T) {
	interrupt := &Interrupt{Signal: syscall.SIGINT}
	tests := map[string]struct {
		err  error
		want int
	}{
		"none":              {nil, 0},
		"named":             {reason.New(reason.SyncTimeout, "late"), 50},
		"wrapped":           {fmt.Errorf("cell: %w", reason.New(reason.DeployFailed, "refused")), 51},
		"reported":          {&Reported{reason.New(reason.SchedulingFailed, "pods")}, 1},
		"nameless":          {errors.New("surprise"), 19},
		"unknown name":      {reason.New("NO_SUCH", "x"), 19},
		"usage":             {Usagef("no such %s", "flag"), 2},
		"usage, named":      {WrapUsage(reason.New(reason.NoSpace, "full")), 15},
		"a lost signal":     {reason.New(reason.Interrupted, "not run"), 19},
		"SIGINT":            {interrupt, 130},
		"SIGTERM":           {&Interrupt{Signal: syscall.SIGTERM}, 143},
		"SIGINT, wrapped":   {fmt.Errorf("waiting for x: %w", interrupt), 130},
		"SIGINT, reported":  {&Reported{interrupt}, 130},
		"SIGINT and a mess": {errors.Join(fmt.Errorf("wait: %w", interrupt), reason.New(reason.Internal, "cleanup")), 130},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := CodeOf(tc.err); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	if got := reason.Of(fmt.Errorf("wait: %w", interrupt)); got != reason.Interrupted {
		t.Errorf("the name of an interrupt: got %s, want %s", got, reason.Interrupted)
	}
	if got := CodeInReport(reason.Interrupted); got != 0 {
		t.Errorf("an interrupt in a report: got %d, want none, since the signal is not known", got)
	}
}
