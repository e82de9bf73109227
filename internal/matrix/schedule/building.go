package schedule

// building.go gets what cells are made of onto the machine while other cells already run: the
// sets of controllers, one after the other. It must not know what a set is made of, which the
// platform does, or what cells are.

import (
	"context"
	"slices"
	"sync"

	"github.com/nvidia/aicr-action/internal/infra"
)

// BuildingSet is the controllers of a lane; an empty one is what every cell needs, the control plane.
type BuildingSet []infra.ControllerKind

// Build prepares sets in the background. A nil Build has prepared everything.
type Build struct {
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	done    []outcome
	changed chan struct{} // closed when a set is done; then there is a new one
}

type outcome struct {
	set BuildingSet
	err error
}

// StartBuilding prepares these sets, in their order, by calls of needs. What every cell needs comes before
// them: if that fails, no set can be had, and none is tried. Meanwhile fetch may download what will
// be needed.
func StartBuilding(ctx context.Context, needs func(context.Context, ...infra.ControllerKind) error, fetch func(context.Context), sets []BuildingSet) *Build {
	ctx, cancel := context.WithCancel(ctx)
	b := &Build{cancel: cancel, ended: make(chan struct{}), changed: make(chan struct{})}
	var fetched sync.WaitGroup
	fetched.Go(func() { fetch(ctx) })
	go func() {
		defer close(b.ended)
		defer fetched.Wait()
		base := needs(ctx)
		b.add(BuildingSet{}, base)
		for _, set := range sets {
			err := base
			if err == nil && len(set) > 0 {
				err = needs(ctx, set...)
			}
			b.add(set, err)
		}
	}()
	return b
}

func (b *Build) add(set BuildingSet, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, outcome{set, err})
	close(b.changed)
	b.changed = make(chan struct{})
}

// Done reports whether a set was prepared or has failed, and the error in that case.
func (b *Build) Done(set BuildingSet) (bool, error) {
	if b == nil {
		return true, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.done {
		if slices.Equal(o.set, set) {
			return true, o.err
		}
	}
	return false, nil
}

// Changed returns a channel that is closed when the next set is done. It is nil if nothing is left
// to wait for.
func (b *Build) Changed() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// AwaitFirst waits until one of these sets is ready. If all have failed, it returns the error of
// the first.
func (b *Build) AwaitFirst(ctx context.Context, sets []BuildingSet) error {
	for {
		changed := b.Changed()
		var failed error
		left := false
		for _, set := range sets {
			done, err := b.Done(set)
			switch {
			case done && err == nil:
				return nil
			case !done:
				left = true
			case failed == nil:
				failed = err
			}
		}
		if !left {
			return failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			<-b.ended // what it started has stopped
			return context.Cause(ctx)
		}
	}
}

// Wait waits until everything is prepared, or has failed.
func (b *Build) Wait() { <-b.ended }

// Stop ends what is still being prepared, and waits for that.
func (b *Build) Stop() {
	if b == nil {
		return
	}
	b.cancel()
	<-b.ended
}
