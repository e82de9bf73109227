package host

import (
	"context"
	"testing"
	"time"
)

func TestSlowness(t *testing.T) {
	begun := time.Now()
	s := &Speed{}
	if got := s.Slowness(begun); got != 1 {
		t.Errorf("without a sample: got %v, want 1", got)
	}
	s.add(begun, 4*time.Millisecond)
	s.add(begun.Add(2*time.Second), 2*time.Millisecond)
	s.add(begun.Add(4*time.Second), 10*time.Millisecond)
	s.add(begun.Add(6*time.Second), 50*time.Millisecond)
	for after, want := range map[time.Duration]float64{0: 8.25, 3 * time.Second: 15, 6 * time.Second: 25, 7 * time.Second: 1} {
		if got := s.Slowness(begun.Add(after)); got != want {
			t.Errorf("since %s: got %v, want %v", after, got, want)
		}
	}
	for i := range 2 * samplesKept {
		s.add(begun.Add(time.Duration(i)*time.Second), 2*time.Millisecond)
	}
	if len(s.samples) != samplesKept {
		t.Errorf("%d samples are kept, want %d", len(s.samples), samplesKept)
	}
}

// The work is really measured: it has a best time at once, which is no less than hashing can take,
// and goes on being measured.
func TestWatchSpeed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s := WatchSpeed(ctx)
	if s.best < 100*time.Microsecond || s.best > 10*time.Second {
		t.Errorf("the best time is %s", s.best)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		s.mu.Lock()
		n := len(s.samples)
		s.mu.Unlock()
		if n > samplesAtFirst {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no further sample within a minute")
		}
	}
	if got := s.Slowness(time.Time{}); got < 1 {
		t.Errorf("the mean is %v of the best", got)
	}
}
