package stack

import (
	"testing"
	"time"
)

// The remaining time is that of all packages that are not compiled, at the pace so far, and is not known
// before there is one.
func TestLeft(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name         string
		work         *work
		left         time.Duration
		under, known bool
	}{
		{"nothing to do", &work{}, 0, false, false},
		{"to come", &work{expected: true, total: 100}, 0, true, false},
		{"how much is not known", &work{since: now.Add(-time.Minute), done: 50}, 0, true, false},
		{"too few to say", &work{since: now.Add(-time.Minute), done: leastDone - 1, total: 100}, 0, true, false},
		{"under way", &work{since: now.Add(-50 * time.Second), done: 25, total: 100}, 150 * time.Second, true, true},
		{"between two sets", &work{expected: true, spent: 100 * time.Second, done: 50, total: 100}, 100 * time.Second, true, true},
		{"more than was seen", &work{since: now.Add(-time.Minute), done: 110, total: 100}, 0, true, true},
		{"over", &work{spent: time.Minute, done: 100, total: 100}, 0, false, false},
	} {
		left, under, known := (&Stack{work: c.work}).left(now)
		if left != c.left || under != c.under || known != c.known {
			t.Errorf("%s: got %s, %t, %t", c.name, left, under, known)
		}
	}
	s := &Stack{work: &work{}}
	over := s.Expect()
	if _, under, _ := s.left(now); !under {
		t.Error("nothing is expected")
	}
	over()
	if _, under, _ := s.left(now); under {
		t.Error("something is expected still")
	}
	end := s.work.begin()
	s.work.did(leastDone)
	s.work.found(2 * leastDone)
	s.work.found(leastDone) // of a part of them only
	if left, _, known := s.left(time.Now().Add(time.Minute)); !known || left < time.Minute {
		t.Errorf("got %s, %t", left, known)
	}
	end()
}
