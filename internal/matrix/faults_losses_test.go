package matrix

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// lossFaults are upgrades that lose what the recipe still has, or keep what it has no more.
func lossFaults() []fault {
	helm, argo := []string{bundle.Helm}, []string{bundle.ArgoCDOCI}
	byHelm := []string{bundle.Helm, bundle.FluxOCI}
	return []fault{
		{
			id: "F228", what: "a Namespace that a chart had and has no more, in which a component of the recipe is", verdict: "exit 73: the Namespace, who had it, who is in it, and how it is kept; the upgrade arrives, and what is in it goes a moment later",
			seeds: []seed{
				{nightly: families, old: older(spaceOf("b")), recipe: func(*tinyRecipe) {}, want: red(reason.UpgradeFailed, "the upgrade from old: Namespace b was deleted, and everything in it: release a had it and has it no more, and component b is in it")},
			},
			tests: []string{"internal/matrix/daytwo TestLost_Emptied"},
		},
		{
			id: "F229", what: "an ordinary object that becomes a hook before the upgrade, or the reverse; a definition that moves between a chart's templates and its crds/; a kind whose definition is new in crds/", verdict: "exit 73 where Helm removes it, does not take it over or does not install it, with why and what to do; a Job that Helm removes after it has run passes",
			seeds: []seed{
				{name: "becomes a hook", nightly: byHelm, old: older(marked("")), recipe: marked("pre-install,pre-upgrade"), want: red(reason.UpgradeFailed, "the upgrade from old: ConfigMap b/conf", "does not exist").and("was an ordinary object of release b and is a hook now (pre-install,pre-upgrade): Helm runs the hook, and then removes")},
				{name: "becomes a hook", nightly: argo, old: older(marked("")), recipe: marked("pre-install,pre-upgrade"), want: outcomeWanted{check: endsAlike}},
				{name: "was a hook", nightly: helm, old: older(marked("pre-install,pre-upgrade")), recipe: marked(""), want: red(reason.UpgradeFailed, "the upgrade from old: Release b", "invalid ownership metadata").and("it is not marked as any release's, since it was a hook before")},
				{name: "Job", nightly: byHelm, old: older(migration("")), recipe: migration("pre-install,pre-upgrade"), want: outcomeWanted{check: goneAfterItRan}},
				{name: "into crds", nightly: helm, old: older(gadgetIn("templates")), recipe: gadgetIn("crds"), want: red(reason.UpgradeFailed, "the upgrade from old: CustomResourceDefinition gadgets.example.com was deleted, and every object of its kind in the cluster with it: the chart of release a had it in its templates and has it in crds/ now")},
				{name: "out of crds", nightly: helm, old: older(gadgetIn("crds")), recipe: gadgetIn("templates"), want: red(reason.UpgradeFailed, "the upgrade from old: Release a", "invalid ownership metadata").and("since it was in the chart's crds/ before")},
				{name: "new in crds", nightly: helm, old: older(func(*tinyRecipe) {}), recipe: gadgetWith("one", "one"), want: red(reason.UpgradeFailed, "the upgrade from old: Release b", "no matches for kind \"Gadget\"").and("CustomResourceDefinition gadgets.example.com is new in the chart's crds/ (component b, b/crds/crd.yaml), which Helm installs with a release")},
			},
			tests: []string{"internal/matrix/daytwo TestNotRun_OrdinaryBefore", "internal/matrix/daytwo TestOutlived", "internal/matrix/daytwo TestMoved_IntoCRDs", "internal/matrix/daytwo TestFailed_NotInstalled"},
		},
		{
			id: "F230", what: "what an apply does not take away or loses: a key of stringData, serviceAccountName, a port whose number is there twice", verdict: "exit 74 with the object, the path and the cause",
			seeds: []seed{
				{name: "stringData", nightly: helm, old: older(secretWith(`stringData: {a: "1", b: "2"}`)), recipe: secretWith(`stringData: {a: "1"}`), want: red(reason.UpgradeDiverged, "Secret b/certs  data.b", "the old template has the key in stringData")},
				{name: "account", nightly: helm, old: older(runningAs), recipe: func(r *tinyRecipe) { r.part("b").add("account.yaml", runnerAccount) }, want: red(reason.UpgradeDiverged, "Deployment b/b  spec.template.spec.serviceAccount", "set serviceAccountName: default")},
				{name: "port", nightly: helm, old: older(dnsPorts("{name: t, port: 53}")), recipe: dnsPorts("{name: u, port: 53, protocol: UDP}, {name: t, port: 53}"), want: red(reason.UpgradeDiverged, "Service b/dns  spec.ports[t]", "port 53 is there twice")},
			},
			tests: []string{"internal/matrix/compare TestUpgraded_Stays"},
		},
		{
			id: "F231", what: "an upgrade that changes the pod template of a ReplicaSet, whose old pods run on; an image that moves from one workload to another; a definition's scope", verdict: "a warning with file and line; no image is called new or no longer used; the difference names the definition with what differs",
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/change TestRendered_SameImage", "internal/matrix/daytwo TestFailed_FieldOfAnotherName"},
		},
		{
			id: "F232", what: "an object that an upgrade removes and that has a finalizer which no controller removes", verdict: "exit 74: the object, the finalizer and the template that had it, also where the deployer does not wait; not verified if a simulated operator may remove it",
			seeds: []seed{
				{nightly: families, old: older(guarded), recipe: textOf("two"), want: red(reason.UpgradeDiverged, "the upgrade from old: ConfigMap b/guarded is being deleted for ever: it has the finalizer example.com/guard, and no controller that removes it").and("b/templates/guarded.yaml", "take the finalizer off before the upgrade")},
			},
			tests: []string{"internal/matrix/daytwo TestGone"},
		},
	}
}

func guarded(r *tinyRecipe) {
	textOf("one")(r)
	r.part("b").add("guarded.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: guarded, finalizers: [example.com/guard]}\ndata: {a: b}\n")
}

// spaceOf gives chart a the Namespace of another component.
func spaceOf(name string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("a").add("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n")
	}
}

// marked has a ConfigMap that is a hook of these events, or none.
func marked(events string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("conf.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf"+hookOf(events)+"}\ndata: {a: b}\n")
	}
}

// migration has a Job that is a hook of these events, or none.
func migration(events string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("job.yaml", strings.NewReplacer("-job}", "-job"+hookOf(events)+"}", "LABEL", "x").Replace(jobTemplate))
	}
}

func hookOf(events string) string {
	if events == "" {
		return ""
	}
	return `, annotations: {helm.sh/hook: "` + events + `", helm.sh/hook-delete-policy: before-hook-creation}`
}

// goneAfterItRan: the note of a Job that Helm ran and removed.
func goneAfterItRan(t *testing.T, r result.Result) {
	t.Helper()
	endsAlike(t, r)
	testkit.WantText(t, "notes", strings.Join(r.Notes, "\n"), "Job.batch b/b-job was an ordinary object of release b and is a hook before its upgrade now")
}

// gadgetIn has a definition in the templates or the crds/ of a, and an object of it in b.
func gadgetIn(dir string) func(*tinyRecipe) {
	text := strings.ReplaceAll(gadgetCRD, "FIELD", "one")
	return func(r *tinyRecipe) {
		if dir == "crds" {
			r.part("a").crds = map[string]string{"crd.yaml": text}
		} else {
			r.part("a").add("crd.yaml", text)
		}
		r.part("b").add("gadget.yaml", "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: one}\nspec: {one: x}\n")
	}
}

const runnerAccount = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner}\n"

func runningAs(r *tinyRecipe) {
	r.part("b").add("account.yaml", runnerAccount)
	r.part("b").edit("      containers:", "      serviceAccountName: runner\n      containers:")
}

func dnsPorts(ports string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("dns.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: dns}\nspec: {selector: {app: b}, ports: ["+ports+"]}\n")
	}
}
