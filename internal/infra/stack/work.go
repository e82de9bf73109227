package stack

import (
	"sync"
	"time"
)

// work is how far the compiling of a stack is, in packages. It may be used by several goroutines.
type work struct {
	mu       sync.Mutex
	total    int // packages, those that are compiled already among them; 0 while it is not known
	done     int // packages
	spent    time.Duration
	since    time.Time // when the compiling that is under way began; zero if none is
	expected bool      // more is to be compiled by this process
}

// leastDone is how many packages have to be compiled before their pace says anything.
const leastDone = 20

// perLink is what linking a program takes, in packages.
const perLink = 15

// Expect says that programs will be compiled, before anything begins; none of them are left when the
// returned function is called.
func (s *Stack) Expect() (over func()) {
	set := func(expected bool) {
		s.work.mu.Lock()
		defer s.work.mu.Unlock()
		s.work.expected = expected
	}
	set(true)
	return func() { set(false) }
}

// left is the time that compiling takes from now on, of this list.
func (s *Stack) left(now time.Time) (left time.Duration, under, known bool) {
	w := s.work
	w.mu.Lock()
	defer w.mu.Unlock()
	spent := w.spent
	if !w.since.IsZero() {
		spent += now.Sub(w.since)
	}
	under = w.expected || !w.since.IsZero()
	if !under || w.total == 0 || w.done < leastDone {
		return 0, under, false
	}
	pace := spent / time.Duration(w.done)
	return pace * time.Duration(max(0, w.total-w.done)), true, true
}

// Left is the time that compiling takes from now on, of this stack and then of others. under says whether it
// is under way or to come, and known whether its time can be said.
func (s *Stack) Left(now time.Time, others ...*Stack) (left time.Duration, under, known bool) {
	stacks := append([]*Stack{s}, others...)
	for _, s := range stacks {
		if s.kubernetes != nil {
			stacks = append(stacks, s.kubernetes)
		}
	}
	known = true
	for _, s := range stacks {
		one, more, told := s.left(now)
		left, under, known = left+one, under || more, known && (told || !more)
	}
	return left, under, under && known
}

// begin counts the time from now on, until the returned function is called.
func (w *work) begin() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.spent += time.Since(w.since)
		w.since = time.Time{}
	}
}

// did counts packages.
func (w *work) did(packages int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done += packages
}

func (w *work) soFar() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done
}

// found says how many packages are to be compiled in all, as far as one look into the cache has shown.
func (w *work) found(total int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total = max(w.total, total)
}
