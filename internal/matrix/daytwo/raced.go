package daytwo

import (
	"context"
	"slices"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var definitionRace = judge.Check{
	ID: "MX710", Name: "definition-removed-in-no-order", Needs: judge.Second, Later: true, Gives: reason.UpgradeFailed, Lanes: func(o judge.Order) bool { return o.Flux },
	Title: "A definition and an object of its kind do not go with two releases of Flux at once",
	Why: "Flux upgrades and removes releases that do not depend on each other in no order. If a definition goes before an object of its kind that another release has, Helm cannot read that release any more " +
		"(https://github.com/helm/helm/issues/6871), and Flux does not try again. A cell in which the object went first has passed by luck. If the other release is uninstalled, it is a warning.",
	Fix:    "Deliver the release without the object before the upgrade, or keep the definition.",
	Says:   "went with %[1]s from release %[2]s, and its definition, %[3]s, from release %[4]s: Flux removes both in no order, and here the object went first",
	Then:   "had the definition, helm-controller could not read release %[2]s any more, and would not try again; deliver %[2]s without the object before, or keep the definition: annotate it helm.sh/resource-policy=keep in the cluster",
	Others: map[string]judge.Message{"uninstalled": {Says: "%[1]s", Then: "%[2]s"}},
	Run: func(s *judge.Scope) {
		b := bundlesOf(s)
		for _, r := range b.races() {
			if b.stays(r.Object.Release) {
				s.Report(r.Object, "", s.Delivery.What, r.Object.Release, r.Definition.Ref(), r.Definition.Release)
				continue
			}
			s.ReportAs("uninstalled", r.Object, "", r.uninstalled(s.Delivery.What), r.Order()).Warning()
		}
	},
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
			it.State, it.Reason, it.Patience, it.Check = lane.ItemSuspect, reason.DeployFailed, 0, definitionRace.ID
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
