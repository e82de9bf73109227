package daytwo

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// stuckFor is how long an object that the delivery removes may wait for a finalizer, as in a removal.
const stuckFor = 20 * time.Second

// Gone judges what the delivery removed: see Recreated. It waits for that to be gone: what waits for a finalizer that no controller
// removes is a failure in every lane, also where the deployer does not wait for it. Where a simulated
// operator might remove it, that is not verified. Reasons: UPGRADE_FAILED, UPGRADE_DIVERGED.
func (b Bundles) Gone(ctx context.Context, what string, env *lane.Env, replaced []result.Ref, rule judge.Ruling) (notVerified []string, err error) {
	if err := rule.On(b.Recreated(what, replaced)); err != nil {
		return nil, err
	}
	var left []*bundle.Object
	for i := range b.Before.Expectation.Objects {
		if o := &b.Before.Expectation.Objects[i]; o.Object.GetName() != "" && b.Now.Expectation.Object(o.Ref()) == nil {
			left = append(left, o)
		}
	}
	var f result.Finding
	look := func(ctx context.Context) wait.Result {
		var now result.Finding
		var still []*bundle.Object
		var unseen []string
		for _, o := range left {
			live, failed := read(ctx, env, o)
			if apierrors.IsNotFound(failed) { // it is, or its kind is
				continue
			}
			if failed != nil { // e.g. since the time is over: what was seen last counts
				return wait.NotYet("read %s: %v", o.Ref(), failed)
			}
			why, judged, ok := leftoverWaits(live, b.Before.Expectation, b.Now.Expectation)
			if !ok {
				continue
			}
			still = append(still, o)
			ref := o.Ref()
			switch line := ref.String() + " " + why; {
			case !judged:
				unseen = append(unseen, line)
			case now.Object == nil:
				now.Check, now.Object, now.Component, now.Cause = removalWaits.ID, &ref, o.Component, what+": "+line
				now.Story = append(now.Story, inWords(what, fmt.Sprintf("%s was in %s (component %s); take the finalizer off before the upgrade, or keep what removes it until it is gone", ref, o.Template, o.Component)))
			default:
				now.Others, now.Story = append(now.Others, ref), append(now.Story, line)
			}
		}
		left, f, notVerified = still, now, unseen
		if len(left) == 0 {
			return wait.Done()
		}
		return wait.NotYet("%s is still being deleted", left[0].Ref())
	}
	err = wait.For(ctx, "what was removed to be gone", wait.Options{Budget: stuckFor, Interval: time.Second, Changed: env.Tell}, look)
	switch {
	case err != nil && !wait.IsTimeout(err):
		return nil, err
	case err == nil || f.Object == nil:
		return notVerified, nil
	}
	if n := len(f.Others); n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	return notVerified, rule.On(&reason.Error{Reason: reason.UpgradeDiverged, Component: f.Component, Err: result.NewFailure(f)})
}

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
		if o := &b.Before.Expectation.Objects[i]; o.Object.GetName() != "" && b.Now.Expectation.Object(o.Ref()) == nil {
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
			if _, _, ok := leftoverWaits(live, b.Before.Expectation); !ok {
				still = append(still, o)
			}
		}
		if leaving = still; len(still) == 0 {
			return wait.Done()
		}
		return wait.NotYet("%s is still being deleted", still[0].Ref())
	})
}
