// Package wait has the one way in which this program waits: for a named condition, within a named
// budget, telling what it still lacks whenever that changes.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// state is what a probe saw.
type state int

const (
	pending state = iota
	done
	never
)

// Result is a probe's answer: Done, NotYet (and why) or Never (and why).
type Result struct {
	state state
	why   string
	err   error
	pause time.Duration
}

// Done ends the wait with success.
func Done() Result { return Result{state: done} }

// NotYet goes on waiting. The reason is what a reader sees while it lasts, and what the timeout
// error says.
func NotYet(format string, args ...any) Result {
	return Result{state: pending, why: fmt.Sprintf(format, args...)}
}

// Within asks for the next probe after a pause that is shorter than the interval; a longer one counts for
// nothing.
func (r Result) Within(pause time.Duration) Result {
	r.pause = pause
	return r
}

// Never ends the wait at once: no amount of time would help. The error reaches the caller as it is.
func Never(err error) Result { return Result{state: never, err: err} }

// TimeoutError says that the budget passed, and what was lacking at the end.
type TimeoutError struct {
	What   string
	Budget time.Duration
	Last   string
}

func (e *TimeoutError) Error() string {
	last := e.Last
	if last == "" {
		last = "it was never seen"
	}
	return fmt.Sprintf("waited %s for %s: %s", e.Budget.Round(time.Second), e.What, last)
}

// IsTimeout reports whether err is, or wraps, a TimeoutError: a deadline that really passed, not a
// cancellation.
func IsTimeout(err error) bool {
	var t *TimeoutError
	return errors.As(err, &t)
}

// Options of For.
type Options struct {
	// Budget is how long to wait; it must be positive.
	Budget time.Duration
	// Interval between two probes; default 200 ms.
	Interval time.Duration
	// Changed is called with each new reason for waiting, and with "" at the end of a successful
	// wait. May be nil.
	Changed func(why string)
}

// For probes until the probe is done, says never, the budget is used up (TimeoutError) or ctx ends
// (its cause).
//
// The budget is measured on the monotonic clock: a jump of the wall clock neither shortens nor
// lengthens it. The first probe is at once. The probe gets a context that ends with the budget, so
// that one hanging call cannot outlive it.
func For(ctx context.Context, what string, opt Options, probe func(context.Context) Result) error {
	if opt.Interval <= 0 {
		opt.Interval = 200 * time.Millisecond
	}
	start := time.Now()
	bounded, cancel := context.WithDeadline(ctx, start.Add(opt.Budget))
	defer cancel()
	ticker := time.NewTicker(opt.Interval)
	defer ticker.Stop()
	last := ""
	for {
		r := probe(bounded)
		switch {
		case r.state == done:
			if opt.Changed != nil {
				opt.Changed("")
			}
			return nil
		case r.state == never && bounded.Err() == nil:
			return r.err
		case ctx.Err() != nil:
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case bounded.Err() != nil:
			// The probe's answer may be the echo of the deadline itself; what it said before that
			// is worth more.
			if last == "" {
				last = r.why
			}
			return &TimeoutError{What: what, Budget: opt.Budget, Last: last}
		}
		if r.why != last {
			last = r.why
			if opt.Changed != nil {
				opt.Changed(last)
			}
		}
		var soon <-chan time.Time
		if r.pause > 0 && r.pause < opt.Interval {
			soon = time.After(r.pause)
		}
		select {
		case <-ticker.C:
		case <-soon:
			ticker.Reset(opt.Interval)
		case <-bounded.Done():
		}
	}
}
