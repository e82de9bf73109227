package host

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

const (
	// sampleBytes are hashed for a sample: a few milliseconds of one core, so that samples cost a
	// thousandth of it.
	sampleBytes, samplePiece = 4 << 20, 64 << 10
	sampleEvery              = 2 * time.Second
	// samplesAtFirst are taken one after the other, so that the best time is known before the
	// machine is busy.
	samplesAtFirst = 5
	// samplesKept are those of an hour.
	samplesKept = int(time.Hour / sampleEvery)
)

// Speed measures how fast this machine gets a small piece of work done, from when it is started:
// what other programs take, what a hypervisor keeps back and a container's limit all show in it. A
// machine that is slow from the start has only that speed to be compared with.
type Speed struct {
	mu      sync.Mutex
	samples []speedSample
	best    time.Duration
}

type speedSample struct {
	at   time.Time
	took time.Duration
}

// WatchSpeed measures until ctx ends.
func WatchSpeed(ctx context.Context) *Speed {
	s := &Speed{}
	for range samplesAtFirst {
		s.add(time.Now(), workSample())
	}
	go func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				took := workSample()
				s.add(time.Now(), took)
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

func workSample() time.Duration {
	piece := make([]byte, samplePiece)
	begun := time.Now()
	for range sampleBytes / samplePiece {
		sum := sha256.Sum256(piece)
		copy(piece, sum[:]) // the next one needs this one
	}
	return time.Since(begun)
}

func (s *Speed) add(at time.Time, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.best == 0 || took < s.best {
		s.best = took
	}
	s.samples = append(s.samples, speedSample{at, took})
	if len(s.samples) > samplesKept {
		s.samples = slices.Delete(s.samples, 0, len(s.samples)-samplesKept)
	}
}

// Slowness is how many times longer than at its best the work took on average since that time; 1 if
// nothing was measured since.
func (s *Speed) Slowness(since time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum time.Duration
	n := 0
	for _, one := range s.samples {
		if !one.at.Before(since) {
			sum += one.took
			n++
		}
	}
	if n == 0 || s.best <= 0 {
		return 1
	}
	return float64(sum) / float64(n) / float64(s.best)
}
