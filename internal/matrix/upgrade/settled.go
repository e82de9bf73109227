package upgrade

import (
	"context"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/leftover"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// leavesWithin is how long the control plane may take for what a delivery has deleted: a namespace with
// what is in it takes some seconds.
const leavesWithin = 30 * time.Second

// Settled waits until what the delivery has deleted is gone. Without that, the difference would say of a
// namespace that it stays, and a rollback would put objects into it while it is being deleted, as nobody
// does who looks at the cluster first. What waits for a finalizer is not waited for: see Gone.
func (b Bundles) Settled(ctx context.Context, env *lane.Env) {
	if b.Before == nil || b.Now == nil {
		return
	}
	var leaving []*bundle.Object
	for i := range b.Before.Expectation.Objects {
		if o := &b.Before.Expectation.Objects[i]; o.Object.GetName() != "" && objectOf(b.Now, o.Ref()) == nil {
			leaving = append(leaving, o)
		}
	}
	// What is still there then is judged by whoever reads it.
	_ = wait.For(ctx, "what was removed to be gone", wait.Options{Budget: leavesWithin, Interval: time.Second, Changed: env.Tell}, func(ctx context.Context) wait.Result {
		var still []*bundle.Object
		for _, o := range leaving {
			live, err := read(ctx, env, o)
			if err != nil || live.GetDeletionTimestamp() == nil {
				continue
			}
			if _, _, ok := leftover.Waits(live, b.Before.Expectation); !ok {
				still = append(still, o)
			}
		}
		if leaving = still; len(still) == 0 {
			return wait.Done()
		}
		return wait.NotYet("%s is still being deleted", still[0].Ref())
	})
}
