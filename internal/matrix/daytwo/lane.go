// Package daytwo judges what comes after a cell's first delivery: an upgrade, a rollback, a second
// delivery of the same bundle, and the removal, with what each leaves behind.
package daytwo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
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
	// Was is the UID that an object had before the delivery; empty if it was not there.
	Was func(result.Ref) types.UID
	// Failed are the tries of what had failed before the delivery, by the item's ID: a controller that reports one of them has
	// not looked yet.
	Failed map[string]string
}

// Poll polls the lane. When all is ready, it compares the records, too.
func (l *Lane) Poll(ctx context.Context, env *lane.Env) (lane.State, error) {
	state, err := l.Lane.Poll(ctx, env)
	for i := range state.Items {
		it := &state.Items[i]
		if failed := l.Failed[it.ID]; failed != "" && failed == it.Attempt && it.Open() && it.State != lane.ItemBlocked {
			it.State, it.Text = lane.ItemWaiting, "as it failed before: "+it.Text
		}
	}
	if err == nil {
		l.Bundles.held(ctx, env, state.Items)
	}
	if open := slices.IndexFunc(state.Items, lane.Item.Open); err != nil || open >= 0 {
		if err == nil {
			l.deleted(ctx, env, &state.Items[open])
		}
		return state, err
	}
	rec, err := l.ReadBack(ctx, env)
	if err != nil {
		return state, err
	}
	rec, _ = Left("", l.Lane, rec, l.Before)
	f := lane.Mismatch(rec.Want, rec.Got)
	if f == nil || len(state.Items) == 0 {
		return state, nil
	}
	at := 0
	if object := f.Findings[0].Object; object != nil {
		at = max(0, slices.IndexFunc(state.Items, func(i lane.Item) bool { return i.Ref == *object }))
	}
	state.Items[at].State, state.Items[at].Text = lane.ItemWaiting, "not what was delivered last: "+f.Findings[0].Story[0]
	l.Bundles.waitedFor(ctx, env, &state.Items[at])
	l.Bundles.farewell(ctx, env, &state.Items[at])
	l.Bundles.outrun(ctx, env, &state.Items[at])
	l.deleted(ctx, env, &state.Items[at])
	return state, nil
}

// deleted fails an item that waits, once the delivery has deleted what another release has now and what
// holds other things: waiting does not bring those back. See Lost.
func (l *Lane) deleted(ctx context.Context, env *lane.Env, it *lane.Item) {
	if l.Was == nil || it.State == lane.ItemFailed || env.Clients == nil || env.Clients.Dynamic == nil {
		return
	}
	for _, o := range l.Bundles.retied() {
		if _, err := read(ctx, env, o); apierrors.IsNotFound(err) {
			it.State, it.Reason, it.Patience, it.Check = lane.ItemSuspect, reason.DeployFailed, 0, tokenDeleted.ID
			it.Text = l.Bundles.untied(o)
			return
		}
	}
	for _, m := range l.Bundles.moved() {
		ref := m.now.Ref()
		if holds(ref.Kind) == "" || l.Was(ref) == "" {
			continue
		}
		if live, err := read(ctx, env, m.now); apierrors.IsNotFound(err) || err == nil && (replaced(l.Was(ref), live.GetUID()) || live.GetDeletionTimestamp() != nil) {
			it.State, it.Reason, it.Patience, it.Check = lane.ItemSuspect, reason.DeployFailed, 0, holderDeleted.ID
			it.Text = strings.Join([]string{it.Text, ref.String() + " was deleted"}, "; ")
			return
		}
	}
}

// waitedFor gives an item that waits for the removal of a release the object that is in its way: one with a
// finalizer which no controller removes. The deployer waits for it for ever; see Gone for one that does not.
func (b Bundles) waitedFor(ctx context.Context, env *lane.Env, it *lane.Item) {
	if b.Before == nil || b.Now == nil {
		return
	}
	for i := range b.Before.Expectation.Objects {
		o := &b.Before.Expectation.Objects[i]
		if o.Object.GetName() == "" || namespaceOf(b.Now, o.Release) != "" || b.Now.Expectation.Object(o.Ref()) != nil {
			continue
		}
		live, err := read(ctx, env, o)
		if err != nil {
			continue
		}
		if why, judged, ok := leftoverWaits(live, b.Before.Expectation, b.Now.Expectation); ok && judged {
			it.State, it.Reason, it.Patience, it.Check = lane.ItemSuspect, reason.UpgradeDiverged, stuckFor, removalWaits.ID
			it.Text = fmt.Sprintf("%s %s, so that component %s, which the recipe has no more, is not removed; it was in %s; take the finalizer off before", o.Ref(), why, o.Component, b.was(o))
			return
		}
	}
}

// Left takes what stays behind out of a record, and warns of it: what only the old bundle has, where
// the deployer has no controller that would remove it. Elsewhere it must go. what is an upgrade or a rollback.
func Left(what string, l lane.Lane, rec lane.Record, before []lane.Delivery) (lane.Record, []result.Finding) {
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
	var warnings []result.Finding
	for _, d := range left {
		warnings = append(warnings, staysBehind.Warning(d.Object, "", "the %s leaves behind: %s", what, d.ID))
	}
	return rec, warnings
}
