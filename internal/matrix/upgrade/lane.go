// Package upgrade judges a second delivery into a cluster that runs something already: whether what
// a lane reports is about the new bundle, what stays behind, and whose fault a failure is. It must
// not know which lane it is, or how cells run.
package upgrade

import (
	"context"
	"slices"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Lane is a lane whose objects have passed once already, with what ran before. They count as ready
// only once the deployer's records are those of the new bundle: a controller that has not looked yet
// still reports the old one as ready.
type Lane struct {
	lane.Lane
	// Before is what the deployer's records had to be for what ran before.
	Before []lane.Delivery
	// Bundles are the one that ran before, and the one that is delivered.
	Bundles Bundles
}

// Poll polls the lane. When all is ready, it compares the records, too.
func (l *Lane) Poll(ctx context.Context, env *lane.Env) (lane.State, error) {
	state, err := l.Lane.Poll(ctx, env)
	if err == nil {
		l.Bundles.held(ctx, env, state.Items)
	}
	if err != nil || slices.ContainsFunc(state.Items, func(i lane.Item) bool { return i.State != lane.ItemGood && i.State != lane.ItemAccepted }) {
		return state, err
	}
	rec, err := l.ReadBack(ctx, env)
	if err != nil {
		return state, err
	}
	rec, _ = Left(l.Lane, rec, l.Before)
	f := lane.Mismatch(rec.Want, rec.Got)
	if f == nil || len(state.Items) == 0 {
		return state, nil
	}
	at := 0
	if object := f.Findings[0].Object; object != nil {
		at = max(0, slices.IndexFunc(state.Items, func(i lane.Item) bool { return i.Ref == *object }))
	}
	state.Items[at].State, state.Items[at].Text = lane.ItemWaiting, "not what was delivered last: "+f.Findings[0].Story[0]
	return state, nil
}

// Left takes what stays behind out of a record, and returns it: what only the old bundle has, where
// the deployer has no controller that would remove it. Elsewhere it must go.
func Left(l lane.Lane, rec lane.Record, before []lane.Delivery) (lane.Record, []lane.Delivery) {
	if before == nil || l.TimeoutReason() == reason.SyncTimeout {
		return rec, nil
	}
	has := func(all []lane.Delivery, id string) bool {
		return slices.ContainsFunc(all, func(d lane.Delivery) bool { return d.ID == id })
	}
	var left []lane.Delivery
	rec.Got = slices.DeleteFunc(slices.Clone(rec.Got), func(d lane.Delivery) bool {
		stays := !has(rec.Want, d.ID) && has(before, d.ID)
		if stays {
			left = append(left, d)
		}
		return stays
	})
	rec.Objects = slices.DeleteFunc(slices.Clone(rec.Objects), func(o lane.Object) bool {
		return slices.ContainsFunc(left, func(d lane.Delivery) bool {
			return d.Object == o.Ref() || d.Object.Group == "" && d.Object.Name == o.Release && d.Object.Kind == lane.KindHelmRelease
		})
	})
	return rec, left
}
