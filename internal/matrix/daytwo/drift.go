package daytwo

// drift.go delivers a bundle that is in the cluster a second time, and finds what that changes.
// Nothing has changed in the bundle, so nothing may change in the cluster: a deployer does the same
// at every refresh. It knows lanes and captured objects. It must not know which deployer a lane
// belongs to, or how a cell goes on.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// SecondDelivery is the second delivery of one cell that has passed.
type SecondDelivery struct {
	Env  *lane.Env
	Lane lane.Lane
	// Budget is how long the deployer may take.
	Budget time.Duration
	// Capture reads the delivered objects.
	Capture func(context.Context) (*compare.Captured, error)
	// Gate waits until the cluster is as the bundle says.
	Gate func(context.Context) error
	// Again renders the charts once more.
	Again func(context.Context) ([]bundle.Object, error)
	// Rule takes out what the user ignores.
	Rule judge.Ruling
	// Hooks are those that Do found replaced and that do not end by themselves, which is no change.
	Hooks []result.Ref
}

// state is what a second delivery must not change.
type state struct {
	objects *compare.Captured
	pods    pods
}

// Do delivers again, and compares twice: as soon as the deployer is done, since what has changed
// then needs no further wait, and once the gate has passed. It returns a note for the result.
// Reasons: NEVER_SETTLES, and those of the gate and the cluster that are not the recipe's.
func (r *SecondDelivery) Do(ctx context.Context) (note string, err error) {
	before, err := r.take(ctx)
	if err != nil {
		return "", err
	}
	again, ignored := r.Lane.Again(ctx, r.Env, r.Budget), ""
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	for _, then := range []func(context.Context) error{func(context.Context) error { return again }, r.Gate} {
		failed := then(ctx)
		if failed != nil && !reason.OfRecipe(failed) {
			return "", failed
		}
		after, err := r.take(ctx)
		if err != nil {
			return "", err
		}
		r.Hooks = before.objects.HooksReplaced(after.objects)
		found, err := r.compare(ctx, before, after)
		if err != nil {
			return "", err
		}
		if found != nil && found.Cause() != ignored {
			ignored = found.Cause()
			if err := r.Rule.On(&reason.Error{Reason: reason.NeverSettles, Err: found}); err != nil {
				return "", err
			}
		}
		if failed != nil {
			return "", fails(failed)
		}
	}
	if err := r.Rule.On(r.byLuck(ctx)); err != nil {
		return "", err
	}
	if ignored != "" {
		return fmt.Sprintf("delivered a second time: of %d objects, what changed is ignored", before.objects.Len()), nil
	}
	return fmt.Sprintf("delivered a second time: none of %d objects changed, and no pod was replaced", before.objects.Len()), nil
}

func (r *SecondDelivery) take(ctx context.Context) (state, error) {
	objects, err := r.Capture(ctx)
	if err != nil {
		return state{}, err
	}
	list, err := listPods(ctx, r.Env)
	if err != nil {
		return state{}, reason.Wrap(reason.ClusterFailed, err)
	}
	return state{objects, list}, nil
}

// fails is a second delivery that ends with an error, where the first did not.
func fails(err error) error {
	const lead = "the second delivery of the same bundle fails, and the first did not: "
	var f *result.Failure
	if !errors.As(err, &f) || len(f.Findings) == 0 {
		return &reason.Error{Reason: reason.NeverSettles, Err: result.NewFailure(result.Finding{Check: secondFails.ID, Cause: lead + err.Error()})}
	}
	told := *f
	told.Findings = slices.Clone(f.Findings)
	told.Findings[0].Check, told.Findings[0].Severity = secondFails.ID, ""
	told.Findings[0].Cause = lead + f.Findings[0].Cause
	return &reason.Error{Reason: reason.NeverSettles, Err: &told}
}
