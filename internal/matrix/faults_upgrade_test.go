package matrix

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// upgradeFaults are those that only a cluster shows that runs something already.
func upgradeFaults() []fault {
	helm, controllers := []string{bundle.Helm}, []string{bundle.ArgoCDOCI, bundle.FluxOCI}
	gadget := func(field string) func(*tinyRecipe) {
		return func(r *tinyRecipe) {
			r.part("b").crds = map[string]string{"crd.yaml": strings.ReplaceAll(gadgetCRD, "FIELD", field)}
		}
	}
	selector := func(version string) func(*tinyRecipe) {
		return func(r *tinyRecipe) {
			r.part("b").edit("selector: {matchLabels: {app: {{ .Release.Name }}}}", "selector: {matchLabels: {app: {{ .Release.Name }}, version: \""+version+"\"}}")
			r.part("b").edit("metadata: {labels: {app: {{ .Release.Name }}}}", "metadata: {labels: {app: {{ .Release.Name }}, version: \""+version+"\"}}")
		}
	}
	job := func(label string) func(*tinyRecipe) {
		return func(r *tinyRecipe) { r.part("b").add("job.yaml", strings.ReplaceAll(jobTemplate, "LABEL", label)) }
	}
	refused := func(object, field, template string) outcomeWanted {
		return red(reason.UpgradeFailed, "the upgrade from old: ").and(object+": "+field+" cannot be changed; component b, template b/templates/"+template, "deleted before the upgrade")
	}
	same := func(*tinyRecipe) {}
	back := func(r *Runner) { r.Rollback = true }
	all := slices.Concat(families, otherLanes)
	return []fault{
		{
			id: "F100", what: "an upgrade whose end is not that of a first installation, that changes what cannot be changed, or that starts from something red", verdict: "with `--from`: exit 74 with the object, the path, both values and the cause; exit 73 with the object, the field and the template; exit 75 and no verdict on the change",
			seeds: []seed{
				{name: "definition in crds", lanes: helm, old: older(gadget("one")), recipe: gadget("two"), want: red(reason.UpgradeDiverged, "CustomResourceDefinition gadgets.example.com", "Helm does not update the definitions in a chart's crds/").and("two")},
				{name: "definition is updated", nightly: controllers, old: older(gadget("one")), recipe: gadget("two"), want: outcomeWanted{check: endsAlike}},
				{name: "definition that the chart's own Job updates", nightly: families, runner: back, old: older(ownJob(gadget("one"))), recipe: ownJob(gadget("two")), want: outcomeWanted{check: endsAlike}},
				{name: "unchanged", nightly: all, runner: back, old: same, recipe: same, want: outcomeWanted{check: changesNothing}},
				{name: "component removed", nightly: all, runner: back, old: same, recipe: func(r *tinyRecipe) { r.only("a", "c") }, want: outcomeWanted{check: endsAlikeAndBack}},
				{name: "component added", nightly: all, runner: back, old: func(r *tinyRecipe) { r.only("a", "c") }, recipe: same, want: outcomeWanted{check: endsAlikeAndBack}},
				{name: "selector", nightly: families, old: older(selector("1")), recipe: selector("2"), want: refused("Deployment b", "spec.selector", "web.yaml")},
				{name: "job", nightly: families, old: older(job("one")), recipe: job("two"), want: refused("Job b-job", "spec.template", "job.yaml")},
				{name: "red base", nightly: families, old: func(r *tinyRecipe) { r.part("b").add("refused.yaml", refusedTemplate) }, recipe: same, want: red(reason.BaseFailed, "no verdict on the upgrade: old, which runs before it, ended with DEPLOY_FAILED")},
			},
			tests: []string{
				"internal/matrix/compare TestUpgraded", "internal/matrix/daytwo TestFailed", "internal/matrix/daytwo TestBaseFailed", "internal/matrix/daytwo TestLane",
				"internal/matrix/lane/argocd TestUpgradedDelivery", "internal/matrix/lane/flux TestHasContent", "internal/observe TestCheckWorkloads_Rolling",
			},
		},
	}
}

// ownJob adds what the GPU Operator's chart and others have: a Job that brings crds/ up to date before
// an upgrade.
func ownJob(change func(*tinyRecipe)) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		change(r)
		r.part("b").add("upgrade-crds.yaml", upgradeJob)
	}
}

//go:embed testdata/objects/upgrade_job.yaml
var upgradeJob string

//go:embed testdata/objects/gadget_crd.yaml
var gadgetCRD string

// older gives the charts an older version: Flux does not fetch the same version again.
func older(change func(*tinyRecipe)) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.version = "0.9.0"
		change(r)
	}
}

// endsAlike: the note of an upgrade whose end is that of a first installation.
func endsAlike(t *testing.T, r result.Result) {
	t.Helper()
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, "ended as a first installation: ") }) {
		t.Errorf("got the notes %q, want one that says that the end is that of a first installation", r.Notes)
	}
	if r.Change == nil {
		t.Error("the result does not say what the upgrade changed")
	}
}

// endsAlikeAndBack: the same, and after a rollback all is as before the upgrade.
func endsAlikeAndBack(t *testing.T, r result.Result) {
	t.Helper()
	endsAlike(t, r)
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, "the rollback ended as before the upgrade: ") }) {
		t.Errorf("got the notes %q, want one that says that the rollback ended as before", r.Notes)
	}
}

// changesNothing: the same, and the upgrade, which is none, has changed nothing.
func changesNothing(t *testing.T, r result.Result) {
	t.Helper()
	endsAlikeAndBack(t, r)
	if !r.Change.Empty() {
		t.Errorf("the same recipe once more changed %+v", r.Change.Totals())
	}
}
