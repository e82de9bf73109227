package matrix

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nvidia/aicr-action/internal/reason"
)

// What a job's end is made of. Upstream's rule: sync work ends 240 s before the job does, so that evidence and uploads have their time, and
// a gate with less than 120 s left fails at once instead of being killed halfway.
const (
	deadlineReserve = 240 * time.Second
	leastSyncTime   = 120 * time.Second
	gateSpeaksFirst = 5 * time.Second
)

// Deadline is when sync work must have ended, whatever the budgets say; the zero value is never. It is a point on the monotonic clock: a
// wall clock that jumps during the run does not move it.
type Deadline struct{ at time.Time }

// NewDeadline takes the earlier of two: the environment's KWOK_SYNC_DEADLINE_EPOCH (seconds since 1970, an absolute point, for a job that
// began before this program did) and --job-timeout, counted from now, less 240 s. Refused are an epoch that is no number, and a job
// timeout too short for any cell.
func NewDeadline(getenv func(string) string, jobTimeout time.Duration, now time.Time) (Deadline, error) {
	var d Deadline
	if text := getenv("KWOK_SYNC_DEADLINE_EPOCH"); text != "" {
		epoch, err := strconv.ParseInt(text, 10, 64)
		if err != nil || epoch <= 0 {
			return d, reason.New(reason.Usage, "KWOK_SYNC_DEADLINE_EPOCH=%q: want seconds since 1970-01-01 UTC, as `date +%%s` prints", text)
		}
		d.at = now.Add(time.Unix(epoch, 0).Sub(now.Round(0))) // now's monotonic reading, moved by the wall clock's distance
	}
	switch {
	case jobTimeout < 0:
		return d, reason.New(reason.Usage, "--job-timeout %s: want a time above zero, e.g. 20m", jobTimeout)
	case jobTimeout == 0:
	case jobTimeout < deadlineReserve+leastSyncTime:
		return d, reason.New(reason.Usage, "--job-timeout %s: the last %s of a job are kept for evidence and uploads, and no cell is begun in the %s before: want at least %s",
			jobTimeout, deadlineReserve, leastSyncTime, deadlineReserve+leastSyncTime)
	default:
		if at := now.Add(jobTimeout - deadlineReserve); d.at.IsZero() || at.Before(d.at) {
			d.at = at
		}
	}
	return d, nil
}

// left is the time until the deadline; ok is false where there is none.
func (d Deadline) left() (left time.Duration, ok bool) {
	if d.at.IsZero() {
		return 0, false
	}
	return time.Until(d.at), true
}

// tooLate is why nothing is begun any more, or "".
func (d Deadline) tooLate() string {
	left, ok := d.left()
	if !ok || left >= leastSyncTime {
		return ""
	}
	if left < 0 {
		return fmt.Sprintf("the job's deadline for sync work passed %s ago", (-left).Round(time.Second))
	}
	return fmt.Sprintf("%s are left until the job's deadline for sync work, less than the %s that a cell needs at least", left.Round(time.Second), leastSyncTime)
}

// shrink is the budget, or what the deadline leaves of it.
func (d Deadline) shrink(budget time.Duration) time.Duration {
	if left, ok := d.left(); ok && left < budget {
		return max(left, 0)
	}
	return budget
}

// bind ends a cell's work at the deadline, a little after the gate's own end, which has more to say. Evidence is collected after that, on
// its own time.
func (d Deadline) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.at.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, d.at.Add(gateSpeaksFirst), reason.New(reason.JobDeadline, "the job's deadline for sync work has passed (KWOK_SYNC_DEADLINE_EPOCH, --job-timeout)"))
}
