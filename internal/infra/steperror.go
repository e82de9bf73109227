package infra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// deathNotice is how long after a lost connection the death that caused it is waited for. A machine
// closes the connections of a process first and reports its end afterwards; where a Docker engine is
// killed, the report comes from another program, which took 400 ms on a busy machine.
const deathNotice = 5 * time.Second

// StepError is the error of a cell whose step of this title failed: what ended the cell, if that is
// why, otherwise err with a reason. Reason: that of what ended the cell or of err; NO_SPACE or
// INTERNAL if err has none.
func StepError(ctx context.Context, title string, err error) error {
	if err == nil {
		return nil
	}
	switch cause := endedBy(ctx, err); {
	case cause == nil:
		return reason.Wrap(DiskReason(err, reason.Internal), err)
	case reason.Of(cause) == reason.JobDeadline: // with the step that was running
		return fmt.Errorf("%s: %w", strings.ToLower(title[:1])+title[1:], cause)
	default:
		return cause
	}
}

// endedBy is what ended ctx, if that is why err happened, otherwise nil: a signal, a deadline, or a
// component that died. After an error of a lost connection it waits up to 5 s for a death, so that
// such an error is not taken for one of the recipe or of the control plane.
func endedBy(ctx context.Context, err error) error {
	if ctx.Err() == nil && lostConnection(err) {
		select {
		case <-ctx.Done():
		case <-time.After(deathNotice):
		}
	}
	return context.Cause(ctx)
}

// lostConnection: some libraries keep only the text of such an error.
func lostConnection(err error) bool {
	for _, lost := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.ErrUnexpectedEOF} {
		if errors.Is(err, lost) || strings.Contains(err.Error(), lost.Error()) {
			return true
		}
	}
	return strings.HasSuffix(err.Error(), ": EOF")
}
