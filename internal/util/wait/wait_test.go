package wait

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestFor_ReportsChanges(t *testing.T) {
	answers := []Result{NotYet("a"), NotYet("a"), NotYet("b"), Done()}
	var seen []string
	i := 0
	err := For(t.Context(), "x", Options{Budget: time.Minute, Interval: time.Millisecond, Changed: func(s string) { seen = append(seen, s) }},
		func(context.Context) Result { i++; return answers[i-1] })
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, ","); got != "a,b," {
		t.Fatalf("changes %q", got)
	}
}

func TestFor_TimeoutHasLastReason(t *testing.T) {
	err := For(t.Context(), "the sky", Options{Budget: 20 * time.Millisecond, Interval: time.Millisecond}, func(ctx context.Context) Result {
		if ctx.Err() != nil {
			return NotYet("echo of the deadline")
		}
		return NotYet("still grey")
	})
	if !IsTimeout(err) || !strings.Contains(err.Error(), "the sky: still grey") {
		t.Fatalf("got %v", err)
	}
}

func TestFor_Never(t *testing.T) {
	boom := errors.New("boom")
	err := For(t.Context(), "x", Options{Budget: time.Hour}, func(context.Context) Result { return Never(boom) })
	if !errors.Is(err, boom) || IsTimeout(err) {
		t.Fatalf("got %v", err)
	}
}

func TestFor_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	err := For(ctx, "x", Options{Budget: time.Hour, Interval: time.Millisecond}, func(context.Context) Result {
		cancel(why)
		return NotYet("waiting")
	})
	if !errors.Is(err, why) || IsTimeout(err) {
		t.Fatalf("got %v", err)
	}
}

func TestFor_ProbeContext(t *testing.T) {
	err := For(t.Context(), "x", Options{Budget: 10 * time.Millisecond}, func(ctx context.Context) Result {
		<-ctx.Done() // a call that hangs
		return NotYet("hung")
	})
	if !IsTimeout(err) {
		t.Fatalf("got %v", err)
	}
}

// A probe may ask for the next one sooner than the interval, and not for a later one.
func TestFor_Within(t *testing.T) {
	for _, tc := range []struct{ interval, in time.Duration }{{time.Hour, time.Millisecond}, {time.Millisecond, time.Hour}} {
		probes := 0
		err := For(t.Context(), "the sky", Options{Budget: time.Minute, Interval: tc.interval}, func(context.Context) Result {
			if probes++; probes > 2 {
				return Done()
			}
			return NotYet("still grey").Within(tc.in)
		})
		if err != nil || probes != 3 {
			t.Errorf("every %s, asked for %s: got %v after %d probes, want 3", tc.interval, tc.in, err, probes)
		}
	}
}
