package durations

import (
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// Left estimates how much time a run has left. It starts with the book's durations, and scales them
// by those of the run's own cells. It may be used by several goroutines.
type Left struct {
	book *Book
	n    int // cells at a time

	mu      sync.Mutex
	waiting map[result.Cell]time.Duration // its expected duration
	running map[result.Cell]time.Time
	// took and expected are the sums of the ended cells' durations, and of the expected ones.
	took, expected time.Duration
}

// NewLeft returns an estimate for a run of these cells, n at a time.
func NewLeft(book *Book, cells []result.Cell, n int) *Left {
	l := &Left{book: book, n: max(1, n), waiting: map[result.Cell]time.Duration{}, running: map[result.Cell]time.Time{}}
	for _, c := range cells {
		l.waiting[c] = book.Of(c)
	}
	return l
}

// Free records that a cell takes no time, since it gets another one's verdict.
func (l *Left) Free(c result.Cell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.waiting[c]; ok {
		l.waiting[c] = 0
	}
}

// Begin records that a cell started. A second call changes nothing.
func (l *Left) Begin(c result.Cell, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.running[c]; !ok {
		l.running[c] = at
	}
}

// End records how a cell ended. One that never started says nothing about the others.
func (l *Left) End(r result.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	expected, ok := l.waiting[r.Cell]
	if !ok {
		return
	}
	delete(l.waiting, r.Cell)
	if _, begun := l.running[r.Cell]; begun && r.Duration > 0 {
		l.took += r.Duration
		l.expected += expected
	}
	delete(l.running, r.Cell)
}

// At returns the time left, or false while nothing is known: no cell has ended yet, and the book
// has none of those that wait.
func (l *Left) At(now time.Time) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.expected > 0
	slower := 1.0
	if known {
		slower = float64(l.took) / float64(l.expected)
	}
	var sum, longest time.Duration
	for c, expected := range l.waiting {
		known = known || (expected > 0 && l.book.Known(c))
		expected = time.Duration(float64(expected) * slower)
		if begun, ok := l.running[c]; ok {
			expected = max(0, expected-now.Sub(begun))
		}
		sum += expected
		longest = max(longest, expected)
	}
	return max(longest, sum/time.Duration(l.n)), known
}

// Longest is the longest that a cell which has not ended is expected to take.
func (l *Left) Longest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var longest time.Duration
	for _, expected := range l.waiting {
		longest = max(longest, expected)
	}
	return longest
}
