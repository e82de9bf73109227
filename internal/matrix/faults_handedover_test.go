package matrix

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// handedOverFaults are objects that a delivery removes, keeps or hands over, in deployers that do not agree.
func handedOverFaults() []fault {
	helm, argo, flux, fluxGit := []string{bundle.Helm}, []string{bundle.ArgoCDOCI}, []string{bundle.FluxOCI}, []string{bundle.FluxGit}
	back, removed := func(r *Runner) { r.Rollback = true }, func(r *Runner) { r.Remove = true }
	const gone = "Widget b: Helm first reads the release that is in the cluster, and that has it in faults.example.com/v1, which the API server does not serve any more: the delivery has removed CustomResourceDefinition widgets.faults.example.com before (component a had it, a/templates/crd.yaml:2)"
	return []fault{
		{
			id: "F264", what: "a definition and an object of its kind, in two components, that one delivery removes: an upgrade, or a rollback that takes back what the upgrade had added", verdict: "exit 73 in Flux and helm, whose Helm cannot read the release with the object any more: the definition, who had it, and the order that helps; passes in Argo CD, and in helm's rollback, where helm still knows the kind from its cache of discovery",
			seeds: []seed{
				{name: "upgrade", nightly: []string{bundle.FluxOCI, bundle.Helm}, old: older(definitionInA), recipe: func(*tinyRecipe) {}, want: red(reason.UpgradeFailed, "the upgrade from old: ", "unable to build kubernetes objects from current release manifest").and(gone, "before the upgrade")},
				{name: "upgrade", nightly: argo, old: older(definitionInA), recipe: func(*tinyRecipe) {}, want: outcomeWanted{check: endsAlike}},
				{name: "rollback", nightly: flux, runner: back, old: older(func(*tinyRecipe) {}), recipe: definitionInA, want: red(reason.UpgradeFailed, "the rollback to old: HelmRelease b", "unable to build kubernetes objects from current release manifest").and(gone, "before the rollback")},
				{name: "rollback", nightly: []string{bundle.Helm, bundle.ArgoCDOCI}, runner: back, old: older(func(*tinyRecipe) {}), recipe: definitionInA, want: outcomeWanted{check: endsAlikeAndBack}},
			},
			tests: []string{"internal/matrix/daytwo TestFailed_DefinitionGone"},
		},
		{
			id: "F265", what: "an object with helm.sh/resource-policy: keep that an upgrade has no more, in Argo CD, which reads that only when it deletes an Application", verdict: "passes with a warning that it was pruned, with file and line; Helm and Flux keep it",
			seeds: []seed{
				{nightly: argo, old: older(keptByHelm), recipe: func(*tinyRecipe) {}, want: outcomeWanted{check: warning("ConfigMap b/kept (b): was removed by the upgrade")}},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F266", what: "an object whose removal a person has to confirm (argocd.argoproj.io/sync-options: Prune=confirm, Delete=confirm)", verdict: "exit 73 in Argo CD within seconds, and 76 for a removal: the object, and how it is confirmed; passes elsewhere",
			seeds: []seed{
				{name: "pruned", nightly: argo, old: older(asksFirst("b", "Prune=confirm")), recipe: func(*tinyRecipe) {}, want: red(reason.UpgradeFailed, "the upgrade from old: Application b: it waits until somebody confirms that ConfigMap/asks is pruned")},
				{name: "with its component", nightly: argo, old: older(asksFirst("d", "Delete=confirm")), recipe: func(*tinyRecipe) {}, want: red(reason.UpgradeFailed, "the upgrade from old: ", "Application d: its deletion waits until somebody confirms that ConfigMap d/asks is deleted")},
				{name: "removal", nightly: argo, runner: removed, recipe: asksFirst("b", "Delete=confirm"), want: red(reason.LeftBehind, "Application b: its deletion waits until somebody confirms that ConfigMap b/asks is deleted")},
				{name: "pruned", nightly: helm, old: older(asksFirst("b", "Prune=confirm")), recipe: func(*tinyRecipe) {}, want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/lane/argocd TestApplicationItem", "internal/matrix/lane/argocd TestDeletionAsks", "internal/matrix/lane/argocd TestUnconfirmed"},
		},
		{
			id: "F267", what: "a component of manifests only that changes, in flux-git: the version of the chart that the bundle makes of it does not change, so that Flux does not fetch it again", verdict: "exit 74 in flux-git: the object, the cause, and the field of the HelmRelease; passes in the other lanes",
			seeds: []seed{
				{nightly: fluxGit, old: older(func(*tinyRecipe) {}), recipe: manifestImage, want: red(reason.UpgradeDiverged, "Deployment c/c", "the version of its chart did not change (0.1.0)", "reconcileStrategy: Revision")},
				{nightly: families, old: older(func(*tinyRecipe) {}), recipe: manifestImage, want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/compare TestUpgraded_SameVersion"},
		},
		{
			id: "F268", what: "a definition that moves into a component of its own, in argocd-git, whose Applications have two sources and so no single revision", verdict: "passes: the new Application has nothing to sync",
			seeds: []seed{{nightly: []string{bundle.ArgoCDGit}, old: older(definitionInA), recipe: split(false), want: outcomeWanted{check: endsAlike}}},
			tests: []string{"internal/matrix/lane/argocd TestNothingToSync"},
		},
		{
			id: "F270", what: "a component that is removed, with an object whose finalizer no controller removes, where the deployer waits for it; a Job that Argo CD runs at a deletion only (PreDelete, PostDelete)", verdict: "exit 74 within seconds: the object, the finalizer and the template that had it; the Job passes: it is not there before",
			seeds: []seed{
				{nightly: []string{bundle.ArgoCDOCI}, old: older(guardedComponent), recipe: func(*tinyRecipe) {}, want: red(reason.UpgradeDiverged, "ConfigMap d/held is being deleted for ever: it has the finalizer example.com/guard, and no controller that removes it, so that component d")},
				{name: "Job", nightly: argo, runner: removed, recipe: jobsOfDeletion},
			},
			tests: []string{"internal/matrix/daytwo TestLane_WaitedFor", "internal/observe TestWorkloads_Unhooked"},
		},
		{
			id: "F269", what: "helm.sh/resource-policy with another word, or in another spelling (Keep)", verdict: "a warning with file and line: an upgrade deletes the object, and an uninstall leaves it, whatever the word",
			tests: []string{"internal/matrix/checks TestCases", "internal/bundle/rendering TestKept", "internal/matrix/daytwo TestUninstalled"},
		},
		{
			id: "F271", what: "a null in valuesObject of a bundle's Application, which its root applies client-side, so that it never reaches Helm and the chart's default stays, as in AICR's bundles of July for the DRA driver", verdict: "a warning with file and line; where the default keeps pods from all nodes, exit 1 with the null's line and the option by which it arrives",
			tests: []string{"internal/intake TestOf", "internal/intake TestWarnOfNulls", "internal/matrix/why TestLostNull"},
		},
	}
}

func keptByHelm(r *tinyRecipe) {
	r.part("b").add("kept.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\n")
}

// asksFirst adds an object that Argo CD does not remove before somebody has confirmed it, to a component or
// with one.
func asksFirst(component, option string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: asks, annotations: {argocd.argoproj.io/sync-options: " + option + "}}\n"
		if component != "b" {
			r.components = append(r.components, &tinyComponent{name: component, templates: map[string]string{"web.yaml": webTemplate}, after: []string{"a"}})
		}
		r.part(component).add("asks.yaml", text)
	}
}

func guardedComponent(r *tinyRecipe) {
	r.components = append(r.components, &tinyComponent{name: "d", templates: map[string]string{"web.yaml": webTemplate, "held.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [example.com/guard]}\n"}, after: []string{"a"}})
}

func jobsOfDeletion(r *tinyRecipe) {
	for _, phase := range []string{"PreDelete", "PostDelete"} {
		r.part("b").add(phase+".yaml", strings.NewReplacer("-job}", "-"+strings.ToLower(phase)+", annotations: {argocd.argoproj.io/hook: "+phase+"}}", "LABEL", "x").Replace(jobTemplate))
	}
}

// manifestImage changes the component that is manifests only.
func manifestImage(r *tinyRecipe) {
	c := r.part("c")
	c.manifest = strings.Replace(c.manifest, "web:1", "web:2", 1)
}
