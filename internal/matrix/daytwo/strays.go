package daytwo

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// removed lists, by release, the ordinary objects that a release had and nothing has now, and that no
// annotation keeps.
func (b Bundles) removed() map[string][]*bundle.Object {
	return guardedOwned(&b.Before.Expectation, rendering.KeptAtUpgrade, func(o *bundle.Object) bool { return b.Now.Expectation.Object(o.Ref()) == nil })
}

// Guarded is the failure of a delivery by Helm that removes a webhook together with what it is asked about;
// nil if it does not. Helm says of an object that it cannot delete nothing but a line in its log, and goes
// on: the object stays, and belongs to no release. before is the event of its hooks that run before it; was is
// the UID that an object had. Reason: UPGRADE_DIVERGED.
func (b Bundles) Guarded(what, before string, was func(result.Ref) types.UID) error {
	all := b.removed()
	for _, release := range slices.Sorted(maps.Keys(all)) {
		if ns := namespaceOf(b.Now, release); ns == "" || ns != namespaceOf(b.Before, release) || hasProgram(&b.Now.Expectation, release, before) {
			continue // Helm uninstalls it or leaves it, or a hook may remove the webhook first
		}
		found := findGuarded(slices.DeleteFunc(all[release], func(o *bundle.Object) bool { return was(o.Ref()) == "" }), releaseutil.InstallOrder)
		if len(found) == 0 {
			continue
		}
		f := guardedFinding(what, found)
		line := fmt.Sprintf("remove %s in an upgrade before this one, or delete it first (kubectl delete)", found[0].Webhook.Ref())
		if isRollback(what) {
			line = fmt.Sprintf("delete %s before the rollback (kubectl delete)", found[0].Webhook.Ref())
		}
		f.Story = append(f.Story, line)
		return &reason.Error{Reason: reason.UpgradeDiverged, Component: f.Component, Err: result.NewFailure(f)}
	}
	return nil
}

// was is where the old bundle has an object.
func (b Bundles) was(o *bundle.Object) string { return place(b.Before, o, "") }

// Orphaned warns of what Flux leaves of a release that moves to another namespace: its helm-controller
// uninstalls the old release as if that were in the new namespace already, where it finds none of the
// objects. left are those that are there still.
func (b Bundles) Orphaned(left []result.Ref) []string {
	var lines []string
	all := b.removed()
	for _, release := range slices.Sorted(maps.Keys(all)) {
		from, to := namespaceOf(b.Before, release), namespaceOf(b.Now, release)
		if to == "" || from == to {
			continue
		}
		var stays []result.Ref
		for _, o := range all[release] {
			if slices.Contains(left, o.Ref()) && o.Object.GetNamespace() == from {
				stays = append(stays, o.Ref())
			}
		}
		if len(stays) == 0 {
			continue
		}
		more := ""
		if n := len(stays) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		o := b.Before.Expectation.Object(stays[0])
		lines = append(lines, fmt.Sprintf("the upgrade leaves behind: %s%s (component %s, %s): release %s moved from namespace %s to %s, and helm-controller looks for the objects of the old one in the new namespace; what is left runs on and belongs to no release: delete it by hand, or give the component another name", stays[0], more, o.Component, b.was(o), release, from, to))
	}
	return lines
}
