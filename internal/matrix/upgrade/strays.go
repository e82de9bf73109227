package upgrade

import (
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/guarded"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// removed lists, by release, the ordinary objects that a release had and nothing has now, and that no
// annotation keeps.
func (b Bundles) removed() map[string][]*bundle.Object {
	all := map[string][]*bundle.Object{}
	for i := range b.Before.Expectation.Objects {
		o := &b.Before.Expectation.Objects[i]
		if o.Hook || o.Object.GetName() == "" || inCRDs(o) || o.Object.GetAnnotations()["helm.sh/resource-policy"] == "keep" || objectOf(b.Now, o.Ref()) != nil {
			continue
		}
		all[o.Release] = append(all[o.Release], o)
	}
	return all
}

// Guarded is the failure of an upgrade by Helm that removes a webhook together with what it is asked about;
// nil if it does not. Helm says of an object that it cannot delete nothing but a line in its log, and goes
// on: the object stays, and belongs to no release. Reason: UPGRADE_DIVERGED.
func (b Bundles) Guarded(what string) error {
	all := b.removed()
	for _, release := range slices.Sorted(maps.Keys(all)) {
		if ns := namespaceOf(b.Now, release); ns == "" || ns != namespaceOf(b.Before, release) || b.runsBefore(release) {
			continue // Helm uninstalls it or leaves it, or a hook may remove the webhook first
		}
		found := guarded.Find(all[release], releaseutil.InstallOrder)
		if len(found) == 0 {
			continue
		}
		ref := found[0].Ref()
		f := result.Finding{Object: &ref, Component: found[0].Component, Cause: fmt.Sprintf("%s: %s stays: %s", what, ref, found[0].Why)}
		for i, o := range found {
			if i > 0 {
				f.Others = append(f.Others, o.Ref())
			}
			f.Story = append(f.Story, fmt.Sprintf("%s was in %s (component %s), the webhook in %s", o.Ref(), b.was(o.Object), o.Component, b.was(o.Webhook)))
		}
		if n := len(found) - 1; n > 0 {
			f.Cause += fmt.Sprintf(" (and %d more)", n)
		}
		f.Story = append(f.Story, fmt.Sprintf("remove %s in an upgrade before this one, or delete it first (kubectl delete)", found[0].Webhook.Ref()))
		return &reason.Error{Reason: reason.UpgradeDiverged, Component: f.Component, Err: result.NewFailure(f)}
	}
	return nil
}

// was is where the old bundle has an object.
func (b Bundles) was(o *bundle.Object) string { return Place(b.Before, o, "") }

// runsBefore reports whether a release has a hook with pods before its upgrade.
func (b Bundles) runsBefore(release string) bool {
	return slices.ContainsFunc(b.Now.Expectation.Objects, func(o bundle.Object) bool {
		kind := o.Object.GetKind()
		return o.Hook && o.Release == release && (kind == "Job" || kind == "Pod") && rendering.RunsInHelm(o.Object.GetAnnotations(), "pre-upgrade")
	})
}

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
		o := objectOf(b.Before, stays[0])
		lines = append(lines, fmt.Sprintf("the upgrade leaves behind: %s%s (component %s, %s): release %s moved from namespace %s to %s, and helm-controller looks for the objects of the old one in the new namespace; what is left runs on and belongs to no release: delete it by hand, or give the component another name", stays[0], more, o.Component, b.was(o), release, from, to))
	}
	return lines
}
