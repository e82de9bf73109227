package daytwo

import (
	"context"
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Raced judges a delivery by Flux that arrived by luck: one release loses a definition and another one an
// object of its kind, and nothing makes the second come first. If the second is upgraded, that is a failure:
// Helm cannot read a release with an object of a kind that is not served any more, and Flux does not try that
// again. If it is uninstalled, it is a warning. Reason: UPGRADE_FAILED.
func (b Bundles) Raced(what string) (warnings []string, err error) {
	for _, r := range b.races() {
		if b.stays(r.Object.Release) {
			return nil, b.raced(what, r)
		}
		warnings = append(warnings, r.Warning(what))
	}
	return warnings, nil
}

func (b Bundles) races() []race {
	if b.Before == nil || b.Now == nil {
		return nil
	}
	return findRaces(b.removed(), b.comesAfter)
}

// stays reports whether a release is upgraded, and not uninstalled.
func (b Bundles) stays(release string) bool {
	ns := namespaceOf(b.Now, release)
	return ns != "" && ns == namespaceOf(b.Before, release)
}

// outrun gives an item that waits for the removal of a release the definition that went before it.
func (b Bundles) outrun(ctx context.Context, env *lane.Env, it *lane.Item) {
	for _, r := range b.races() {
		if b.stays(r.Object.Release) || env.Clients == nil || env.Clients.Dynamic == nil {
			continue
		}
		if lost := r.Lost(ctx, env); lost != "" {
			it.State, it.Reason, it.Patience = lane.ItemSuspect, reason.DeployFailed, 0
			it.Text = lost + "; " + r.Order()
			return
		}
	}
}

// comesAfter reports whether a release of the new bundle waits for another one.
func (b Bundles) comesAfter(release, other string) bool {
	for _, r := range b.Now.Expectation.Releases {
		if r.Name == release {
			return slices.ContainsFunc(r.DependsOn, func(on string) bool { return on == other || b.comesAfter(on, other) })
		}
	}
	return false
}

func (b Bundles) raced(what string, r race) error {
	definition, o := r.Definition, r.Object
	ref := o.Ref()
	return &reason.Error{Reason: reason.UpgradeFailed, Component: o.Component, Err: result.NewFailure(result.Finding{
		Object: &ref, Component: o.Component,
		Cause: fmt.Sprintf("%s: release %s had %s, and release %s its definition, %s: Flux removes both in no order, and here the object went first; had the definition, helm-controller could not read release %[2]s any more, and would not try again",
			what, o.Release, ref, definition.Release, definition.Ref()),
		Story: []string{
			fmt.Sprintf("before: component %s, %s; component %s, %s", o.Component, b.was(o), definition.Component, b.was(definition)),
			inWords(what, fmt.Sprintf("deliver %s without the object before the upgrade, or keep the definition: annotate it helm.sh/resource-policy=keep in the cluster before the upgrade", o.Release)),
		},
	})}
}
