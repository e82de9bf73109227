package lists

// inorder.go works on the elements of a list side by side, as if it did so one after another.
// It knows nothing of what they are.

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers is how many elements are worked on at a time: as many as there are cores, and no more
// than four, since each may have a process of its own.
func Workers() int { return min(4, runtime.GOMAXPROCS(0)) }

// InOrder calls do for 0 to n-1 on several goroutines, and take with each result, in order and one at a
// time. Neither the results nor the error depend on which call finished first: the error is that of
// the lowest number for which do or take failed. An error cancels the calls for higher numbers. All
// calls have returned when Do returns. The argument worker, 0 to Workers()-1, is the goroutine.
func InOrder[T any](ctx context.Context, n int, do func(ctx context.Context, worker, i int) (T, error), take func(i int, value T) error) error {
	type answer struct {
		value T
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	workers := min(Workers(), n)
	answers := make([]chan answer, n)
	for i := range answers {
		answers[i] = make(chan answer, 1)
	}
	// A number is handed out if less than 2*workers before it have not been taken: results may be
	// large.
	next, room := make(chan int), make(chan struct{}, 2*max(1, workers))
	var failed atomic.Bool // no call is started after a failure
	var running sync.WaitGroup
	running.Go(func() {
		defer close(next)
		for i := 0; i < n && !failed.Load(); i++ {
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return
			}
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	})
	for worker := range workers {
		running.Go(func() {
			for i := range next {
				value, err := do(ctx, worker, i)
				if err != nil {
					failed.Store(true)
				}
				answers[i] <- answer{value, err}
			}
		})
	}
	defer running.Wait()
	defer cancel()
	for i := range n {
		select {
		case a := <-answers[i]:
			if a.err != nil {
				return a.err
			}
			if err := take(i, a.value); err != nil {
				return err
			}
			<-room
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
