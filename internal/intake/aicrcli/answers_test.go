package aicrcli

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// Who asks at the same time gets one answer, and another question has another answer. An error is remembered,
// but not that of one who gave up.
func TestGet(t *testing.T) {
	a := &Answers{}
	failed := errors.New("no")
	ended, end := context.WithCancel(t.Context())
	if _, err := a.Get(ended, "one", func() ([]byte, error) { end(); return nil, ended.Err() }); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the error of who is asked", err)
	}
	for range 2 {
		if _, err := a.Get(t.Context(), "never", func() ([]byte, error) { defer func() { failed = nil }(); return nil, failed }); err == nil || err.Error() != "no" {
			t.Fatalf("got %v, want the error of the first time", err)
		}
	}
	asked := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := a.Get(t.Context(), "one", func() ([]byte, error) { asked++; return []byte("1"), nil })
			if string(got) != "1" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	all.Wait()
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	if got, err := a.Get(t.Context(), "two", func() ([]byte, error) { return []byte("2"), nil }); string(got) != "2" || err != nil {
		t.Errorf("got %q, %v for another question", got, err)
	}
}

// Who waits for the answer to another's question ends with its context.
func TestGet_Cancelled(t *testing.T) {
	a, asking, end := &Answers{}, make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = a.Get(t.Context(), "one", func() ([]byte, error) { close(asking); <-end; return nil, nil })
	}()
	<-asking
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Get(ctx, "one", func() ([]byte, error) { return nil, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it is cancelled", err)
	}
	close(end)
	<-done
}
