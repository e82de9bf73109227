package daytwo

import (
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// removed lists, by release, the ordinary objects that a release had and nothing has now, and that no
// annotation keeps.
func (b Bundles) removed() map[string][]*bundle.Object {
	return guardedOwned(&b.Before.Expectation, rendering.KeptAtUpgrade, func(o *bundle.Object) bool { return b.Now.Expectation.Object(o.Ref()) == nil })
}

var guardedByItsOwn = judge.Check{
	ID: "MX707", Name: "webhook-guards-what-is-removed", Needs: judge.Second, Later: true, Gives: reason.UpgradeDiverged,
	Lanes: func(o judge.Order) bool { return !o.ArgoCD && !o.AtOnce },
	Title: "A webhook is not removed together with what it is asked about",
	Why: "Helm deletes what a release has no more in one order of kinds, the Service of a webhook before the objects that it guards, and its configuration last. A webhook that fails closed then refuses " +
		"the deletion of those objects. Helm writes a line into its log and goes on: the objects stay, and belong to no release.",
	Fix:  "Remove the webhook in an upgrade before this one, or delete it first.",
	Says: "stays: webhook %s of %s is asked about its deletion and fails closed, and Helm deletes its %s first, and the webhook last: the API server refuses to delete %[4]s",
	Then: "%[5]s (kubectl delete)",
	Run: func(s *judge.Scope) {
		b := bundlesOf(s)
		all := b.removed()
		for _, release := range slices.Sorted(maps.Keys(all)) {
			if !b.stays(release) || hasProgram(&b.Now.Expectation, release, s.Delivery.Event) {
				continue // Helm uninstalls it or leaves it, or a hook may remove the webhook first
			}
			there := slices.DeleteFunc(all[release], func(o *bundle.Object) bool { return s.Delivery.Was(o.Ref()) == "" })
			for _, o := range findGuarded(there, releaseutil.InstallOrder) {
				then := fmt.Sprintf("remove %s in an upgrade before this one, or delete it first", o.Webhook.Ref())
				if s.Delivery.Back {
					then = fmt.Sprintf("delete %s before the rollback", o.Webhook.Ref())
				}
				s.Report(o.Object, "", o.Name, o.Webhook.Ref(), o.Service, o.Ref(), then).OneCause(release)
			}
		}
	},
}

// was is where the old bundle has an object.
func (b Bundles) was(o *bundle.Object) string { return place(b.Before, o, "") }

var orphaned = judge.Check{
	ID: "MX711", Name: "orphaned-in-the-old-namespace", Needs: judge.Second, Later: true, Lanes: func(o judge.Order) bool { return o.Flux },
	Title: "A release of Flux does not move to another namespace",
	Why: "helm-controller uninstalls a release that moves as if it were in the new namespace already, and finds none of its objects there " +
		"(https://fluxcd.io/flux/components/helm/helmreleases/#target-namespace). What the old one had runs on, and belongs to no release.",
	Fix:  "Give the component another name, or delete by hand what is left.",
	Says: "is left behind by %s%s: release %s moved from namespace %s to %s, and helm-controller looks for the objects of the old one in the new namespace",
	Then: "it runs on and belongs to no release: delete it by hand, or give the component another name",
	Run: func(s *judge.Scope) {
		b := bundlesOf(s)
		all := b.removed()
		for _, release := range slices.Sorted(maps.Keys(all)) {
			from, to := namespaceOf(b.Before, release), namespaceOf(b.Now, release)
			stays := slices.DeleteFunc(slices.Clone(all[release]), func(o *bundle.Object) bool {
				return !slices.Contains(s.Delivery.Left, o.Ref()) || o.Object.GetNamespace() != from
			})
			if to == "" || from == to || len(stays) == 0 {
				continue
			}
			more := ""
			if n := len(stays) - 1; n > 0 {
				more = fmt.Sprintf(", and %d more", n)
			}
			s.Report(stays[0], "", delivered(s.Delivery), more, release, from, to)
		}
	},
}
