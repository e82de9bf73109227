package matrix

import (
	"context"
	"sync"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// rendering is what the lanes of one recipe have in common: its charts, rendered and traced once. It is safe for lanes that run side by
// side; the others wait for the first.
type rendering struct {
	mu   sync.Mutex
	done bool
	in   bundle.Input
	err  error
}

// prepare gives the input with the rendering of the first lane that came here, or with the error that it met. Only a lane that was ended
// from outside leaves the work to the next.
func (r *rendering) prepare(ctx context.Context, in bundle.Input) (bundle.Input, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done {
		prepared, err := bundle.Prepare(ctx, in)
		if ctx.Err() != nil {
			return in, context.Cause(ctx)
		}
		r.in, r.err, r.done = prepared, err, true
	}
	return r.in, r.err
}

// drop frees the rendering. A lane that comes later renders anew.
func (r *rendering) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done, r.in, r.err = false, bundle.Input{}, nil
}
