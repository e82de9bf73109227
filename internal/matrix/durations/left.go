package durations

import (
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// Left says how much time a run has left. It begins with what the book says, and goes by what the
// run's own cells took against that. It may be used by several goroutines.
type Left struct {
	book *Book
	n    int // cells at a time

	mu      sync.Mutex
	waiting map[result.Cell]time.Duration // what is expected of it
	running map[result.Cell]time.Time
	// What the ended cells took, and what was expected of them.
	took, expected time.Duration
}

// NewLeft is for a run of these cells, n at a time.
func NewLeft(book *Book, cells []result.Cell, n int) *Left {
	l := &Left{book: book, n: max(1, n), waiting: map[result.Cell]time.Duration{}, running: map[result.Cell]time.Time{}}
	for _, c := range cells {
		l.waiting[c] = book.Of(c)
	}
	return l
}

// Begin notes that a cell was begun. A second call changes nothing.
func (l *Left) Begin(c result.Cell, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.running[c]; !ok {
		l.running[c] = at
	}
}

// End notes how a cell ended. One that was never begun says nothing about the others.
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

// At is the time that is left, or false while nothing is known: no cell has ended yet, and the book
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
		known = known || l.book.Known(c)
		expected = time.Duration(float64(expected) * slower)
		if begun, ok := l.running[c]; ok {
			expected = max(0, expected-now.Sub(begun))
		}
		sum += expected
		longest = max(longest, expected)
	}
	return max(longest, sum/time.Duration(l.n)), known
}
