package gate

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// The end of a job, by upstream's rule: sync work ends 240 s before the job does, to leave time for
// debug artifacts and uploads, and a gate with less than 120 s left fails at once instead of being
// killed halfway.
const (
	deadlineReserve = 240 * time.Second
	LeastSyncTime   = 120 * time.Second
	GateSpeaksFirst = 5 * time.Second
)

// Deadline is when sync work must have ended, whatever the budgets say; the zero value is never. It
// is a point on the monotonic clock, so that a jump of the wall clock does not move it.
type Deadline struct{ At time.Time }

// NewDeadline returns the earlier of two deadlines. KWOK_SYNC_DEADLINE_EPOCH is an absolute point
// in seconds since 1970, for a job that started before this program. --job-timeout counts from now,
// less 240 s. An epoch that is no number and a job timeout too short for any cell are errors.
func NewDeadline(getenv func(string) string, jobTimeout time.Duration, now time.Time) (Deadline, error) {
	var d Deadline
	if text := getenv("KWOK_SYNC_DEADLINE_EPOCH"); text != "" {
		epoch, err := strconv.ParseInt(text, 10, 64)
		if err != nil || epoch <= 0 {
			return d, reason.New(reason.Usage, "KWOK_SYNC_DEADLINE_EPOCH=%q: want seconds since 1970-01-01 UTC, as `date +%%s` prints", text)
		}
		d.At = now.Add(time.Unix(epoch, 0).Sub(now.Round(0))) // now's monotonic reading, moved by the wall clock's distance
	}
	switch {
	case jobTimeout < 0:
		return d, reason.New(reason.Usage, "--job-timeout %s: want a time above zero, e.g. 20m", jobTimeout)
	case jobTimeout == 0:
	case jobTimeout < deadlineReserve+LeastSyncTime:
		return d, reason.New(reason.Usage, "--job-timeout %s: the last %s of a job are reserved for debug artifacts and uploads, and no cell starts in the %s before: want at least %s",
			jobTimeout, deadlineReserve, LeastSyncTime, deadlineReserve+LeastSyncTime)
	default:
		if at := now.Add(jobTimeout - deadlineReserve); d.At.IsZero() || at.Before(d.At) {
			d.At = at
		}
	}
	return d, nil
}

// Left returns the time until the deadline; ok is false without one.
func (d Deadline) Left() (left time.Duration, ok bool) {
	if d.At.IsZero() {
		return 0, false
	}
	return time.Until(d.At), true
}

// TooLate returns why nothing may start any more, or "".
func (d Deadline) TooLate() string {
	left, ok := d.Left()
	if !ok || left >= LeastSyncTime {
		return ""
	}
	if left < 0 {
		return fmt.Sprintf("the job's deadline for sync work passed %s ago", (-left).Round(time.Second))
	}
	return fmt.Sprintf("%s are left until the job's deadline for sync work, less than the %s that a cell needs at least", left.Round(time.Second), LeastSyncTime)
}

// Shrink returns the budget, or what the deadline leaves of it.
func (d Deadline) Shrink(budget time.Duration) time.Duration {
	if left, ok := d.Left(); ok && left < budget {
		return max(left, 0)
	}
	return budget
}

// Bind ends a cell's work at the deadline, a little after the gate itself ends, whose error says
// more. Debug artifacts are collected after that, in time of their own.
func (d Deadline) Bind(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.At.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, d.At.Add(GateSpeaksFirst), reason.New(reason.JobDeadline, "the job's deadline for sync work has passed (KWOK_SYNC_DEADLINE_EPOCH, --job-timeout)"))
}
