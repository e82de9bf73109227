package lists

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

// Results come in order, whichever is ready first.
func TestInOrder(t *testing.T) {
	const n = 50
	later := make([]chan struct{}, n+1) // each even number waits for the odd one after it, where there are two goroutines
	for i := range later {
		later[i] = make(chan struct{})
	}
	var got []int
	err := InOrder(t.Context(), n, func(ctx context.Context, worker, i int) (int, error) {
		defer close(later[i])
		if worker >= Workers() {
			t.Errorf("worker %d of %d", worker, Workers())
		}
		if i%2 == 0 && Workers() > 1 {
			<-later[i+1]
		}
		return i, nil
	}, func(i, value int) error {
		if i != value {
			t.Errorf("took %d as number %d", value, i)
		}
		got = append(got, value)
		return nil
	})
	if err != nil || len(got) != n || !slices.IsSorted(got) {
		t.Errorf("got %v, %v", got, err)
	}
	if err := InOrder(t.Context(), 0, func(context.Context, int, int) (int, error) { return 0, nil }, nil); err != nil {
		t.Error(err)
	}
}

// The error is that of the lowest number that has one, even if it occurs last. It cancels the other
// calls, and no further call is started.
func TestInOrderError(t *testing.T) {
	early, late := errors.New("early"), errors.New("late")
	secondFailed := make(chan struct{})
	var begun atomic.Int32
	err := InOrder(t.Context(), 1000, func(ctx context.Context, _, i int) (int, error) {
		begun.Add(1)
		switch {
		case i == 0:
			return 0, nil
		case i == 1:
			if Workers() > 1 {
				<-secondFailed
			}
			return 0, early
		case i == 2:
			close(secondFailed)
			return 0, late
		}
		<-ctx.Done() // only the error of number 1 ends it
		return 0, ctx.Err()
	}, func(i, _ int) error {
		if i > 0 {
			t.Errorf("number %d was taken", i)
		}
		return nil
	})
	if !errors.Is(err, early) {
		t.Errorf("got %v", err)
	}
	if n := begun.Load(); n > int32(2*Workers()+2) {
		t.Errorf("%d were begun after a failure", n)
	}
	refused := errors.New("refused")
	err = InOrder(t.Context(), 10, func(_ context.Context, _, i int) (int, error) { return i, nil }, func(i, _ int) error {
		if i == 3 {
			return refused
		}
		return nil
	})
	if !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = InOrder(ctx, 10, func(ctx context.Context, _, _ int) (int, error) {
		cancel()
		<-ctx.Done()
		return 0, nil
	}, func(int, int) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
