package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// secondDayFaults are upgrades that lose something, or that cannot end, in clusters that are in use.
func secondDayFaults() []fault {
	helm, argo, flux := []string{bundle.Helm}, []string{bundle.ArgoCDOCI}, []string{bundle.FluxOCI}
	twice, back := func(r *Runner) { r.Drift = true }, func(r *Runner) { r.Rollback = true }
	const empties = "empties Secret b/certs: data[tls.crt] had 22 bytes, which no chart rendered, and has none now"
	return []fault{
		{
			id: "F107", what: "a Secret that an operator has filled and that a delivery empties", verdict: "exit 74 with `--from`, 77 with `--drift`: the Secret, the key, the number of bytes, the template's line, and what the deployer did; one without data in its template stays filled in every lane, and one whose key is no longer rendered stays so with server-side apply, in Argo CD and Flux",
			seeds: []seed{
				{name: "rendered empty", nightly: families, old: older(secretWith(`data: {tls.crt: ""}`)), recipe: secretWith(`data: {tls.crt: ""}`), want: red(reason.UpgradeDiverged, "the upgrade from old "+empties).and("the template renders it without a value", "leave data out of b/templates/secret.yaml:2")},
				{name: "without data", nightly: families, old: older(secretWith("")), recipe: secretWith(""), want: outcomeWanted{check: staysFilled}},
				{name: "no longer rendered", nightly: helm, old: older(secretWith(`data: {tls.crt: ""}`)), recipe: secretWith(""), want: red(reason.UpgradeDiverged, "the upgrade from old "+empties).and("the old template renders it and the new one does not")},
				{name: "server-side apply", nightly: slices.Concat(argo, flux), old: older(secretWith(`data: {tls.crt: ""}`)), recipe: secretWith(""), want: outcomeWanted{check: staysFilled}},
				{name: "second delivery", nightly: families, runner: twice, recipe: secretWith(`data: {tls.crt: ""}`), want: red(reason.NeverSettles, "the second delivery "+empties)},
			},
			tests: []string{"internal/matrix/daytwo TestFilled"},
		},
		{
			id: "F108", what: "a custom resource that is a hook: each delivery deletes it first, and Argo CD does not miss it", verdict: "a warning with file and line: what its operator made of it is torn down and built again; exit 74 in Argo CD if nothing else differs, since it is not synced then",
			seeds: []seed{
				{name: "upgrade", nightly: families, old: older(widgetAsHook("one", 1)), recipe: widgetAsHook("two", 1), want: outcomeWanted{check: warning("Widget.faults.example.com b/b (b): is torn down and built again by each delivery: it is a hook (post-install,post-upgrade; before-hook-creation)")}},
				{name: "second delivery", nightly: slices.Concat(helm, flux), runner: twice, recipe: widgetAsHook("one", 1), want: outcomeWanted{check: warning("Widget.faults.example.com b/b (b): is torn down and built again by each delivery")}},
				{name: "not run", nightly: slices.Concat(helm, flux), old: older(func(r *tinyRecipe) { r.part("a").add("crd.yaml", widgetCRD) }), recipe: func(r *tinyRecipe) {
					widgetAsHook("one", 1)(r)
					r.part("b").templates["widget.yaml"] = strings.Replace(r.part("b").templates["widget.yaml"], ",post-upgrade", "", 1)
				}, want: red(reason.UpgradeFailed, "the upgrade from old: Widget b/b (b, b/templates/widget.yaml) is reported as delivered, but does not exist").and("is a hook that runs at installation only (post-install), and release b was installed before it had it; add post-upgrade in b/templates/widget.yaml:2")},
				{name: "not synced", nightly: argo, old: older(widgetAsHook("one", 1)), recipe: widgetAsHook("one", 2), want: red(reason.UpgradeDiverged, "Widget.faults.example.com b/b  spec.size  first installation: 2; after the upgrade: 1", "it is a hook, which this delivery did not run")},
			},
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/compare TestUpgraded_Hooks"},
		},
		{
			id: "F109", what: "a component split in two, so that another release has the definitions now", verdict: "exit 73: Helm refuses to take the definition over, and Flux deletes it, with every object of its kind; passes in Argo CD, which neither prunes nor deletes a definition",
			seeds: []seed{
				{name: "refused", nightly: helm, old: older(definitionInA), recipe: split(false), want: red(reason.UpgradeFailed, "the upgrade from old: Release a-crds", "invalid ownership metadata").
					and("CustomResourceDefinition widgets.faults.example.com is in the cluster already, and component a-crds has it too (a-crds/templates/crd.yaml:2); it belongs to release a", "meta.helm.sh/release-name=a-crds", "helm.sh/resource-policy=keep")},
				{name: "deleted", nightly: flux, old: older(definitionInA), recipe: split(false), want: red(reason.UpgradeFailed, "the upgrade from old: CustomResourceDefinition widgets.faults.example.com was deleted, and every object of its kind in the cluster with it: release a had it and has it no more, release a-crds has it now").and("keep it: annotate it helm.sh/resource-policy=keep")},
				{name: "into crds", nightly: slices.Concat(helm, flux), old: older(definitionInA), recipe: split(true), want: red(reason.UpgradeFailed, "the upgrade from old: CustomResourceDefinition widgets.faults.example.com was deleted, and every object of its kind in the cluster with it")},
				{name: "stays", nightly: argo, old: older(definitionInA), recipe: split(true), want: outcomeWanted{check: endsAlike}},
				{name: "nothing to sync", nightly: argo, old: older(definitionInA), recipe: split(false), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/daytwo TestMoved"},
		},
		{
			id: "F110", what: "a rolling update that adds its new pod before it removes an old one, where every GPU is taken", verdict: "exit 73 within seconds: the scheduler's message, the pods that hold the room, and the strategy that goes on",
			seeds: []seed{{nightly: families, old: older(fullNodes("1")), recipe: fullNodes("2"), want: red(reason.UpgradeFailed, "the upgrade from old: Deployment b/b (b): 0/6 nodes are available", "Insufficient nvidia.com/gpu", "its rolling update (maxSurge 25%, maxUnavailable 25%; pods: 1) removes no old pod before a new one is ready").
				and("strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", "in b/templates/web.yaml:5")}},
			tests: []string{"internal/matrix/daytwo TestStandoff", "internal/observe TestSurge"},
		},
		{
			id: "F111", what: "a chart with other content under the version that it had", verdict: "exit 74 in Flux, which names the version as the cause; Helm and Argo CD's OCI sources deliver it, with a warning that Argo CD keeps a chart of a Helm repository",
			seeds: []seed{
				{name: "kept", nightly: flux, old: textOf("one"), recipe: textOf("two"), want: red(reason.UpgradeDiverged, `ConfigMap b/b-config  data.text  first installation: "two"; after the upgrade: "one"`, "the version of its chart did not change (1.0.0), so that Flux neither fetches the chart again nor upgrades the release")},
				{name: "delivered", nightly: helm, old: textOf("one"), recipe: textOf("two"), want: outcomeWanted{check: endsAlike}},
				{name: "delivered", nightly: argo, old: textOf("one"), recipe: textOf("two"), want: outcomeWanted{check: warning("comes with chart b 1.0.0, which has other content than before under the same version")}.in(100 * time.Second)}, // by itself Argo CD looks a minute or two later
			},
			tests: []string{"internal/matrix/compare TestUpgraded"},
		},
		{
			id: "F112", what: "what the API server does not let an upgrade or a rollback change: a StatefulSet's claims, a claim, a version in which objects are stored", verdict: "exit 73 with the object, the field, both values, the template's line, and what to do",
			seeds: []seed{
				{name: "claim template", nightly: families, old: older(claimsOf("1Gi")), recipe: claimsOf("2Gi"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "b-db").
					and("StatefulSet b-db: spec.volumeClaimTemplates cannot be changed; component b, template b/templates/db.yaml:", `it changes spec.volumeClaimTemplates[0].spec.resources.requests.storage: "1Gi", then "2Gi"`, "--cascade=orphan")},
				{name: "claim", nightly: families, old: older(claim("1Gi")), recipe: claim("2Gi"), want: red(reason.UpgradeFailed, "the upgrade from old: ", `"data"`).
					and("PersistentVolumeClaim data: spec.resources.requests.storage cannot be changed; component b, template b/templates/pvc.yaml:4", "allowVolumeExpansion")},
				{name: "version", nightly: families, old: older(versions("v1alpha1")), recipe: versions("v1"), want: red(reason.UpgradeFailed, "the upgrade from old: ", "storedVersions").
					and("CustomResourceDefinition widgets.faults.example.com: version v1alpha1 cannot be left out of spec.versions", "a/templates/crd.yaml:", "a storage version migration")},
				{name: "rollback of a version", nightly: families, runner: back, old: older(versions("v1alpha1")), recipe: versions("v1", "v1alpha1"), want: red(reason.UpgradeFailed, "the rollback to old: ", "storedVersions").
					and("CustomResourceDefinition widgets.faults.example.com: version v1 cannot be left out of spec.versions")},
			},
			tests: []string{"internal/matrix/daytwo TestFailed"},
		},
	}
}

func secretWith(data string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: certs}\n"+data+"\n")
	}
}

// staysFilled: the Secret was filled, and is what a first installation makes once that is removed.
func staysFilled(t *testing.T, r result.Result) {
	t.Helper()
	testkit.WantText(t, "notes", strings.Join(r.Notes, "\n"), "Secret b/certs is rendered without a value; filled before the second delivery", "ended as a first installation: ")
}

// widgetAsHook has an ordinary object too: Argo CD syncs nothing if only hooks differ.
func widgetAsHook(text string, size int) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("a").add("crd.yaml", widgetCRD)
		r.part("b").add("widget.yaml", strings.NewReplacer("metadata: {name: {{ .Release.Name }}}", `metadata: {name: {{ .Release.Name }}, annotations: {helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-delete-policy: before-hook-creation}}`,
			"size: 1", fmt.Sprintf("size: %d", size)).Replace(widget))
		textOf(text)(r)
	}
}

func definitionInA(r *tinyRecipe) {
	r.part("a").add("crd.yaml", widgetCRD)
	r.part("b").add("widget.yaml", widget)
}

// split gives the definition to a component of its own, in its templates or in crds/.
func split(crds bool) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("widget.yaml", widget)
		one := &tinyComponent{name: "a-crds", templates: map[string]string{"crd.yaml": widgetCRD}}
		if crds {
			one.templates, one.crds = map[string]string{"note.yaml": sharedObject}, map[string]string{"crd.yaml": widgetCRD}
		}
		r.components = append([]*tinyComponent{one}, r.components...)
		r.part("a").after = []string{"a-crds"}
	}
}

// fullNodes has four GPU nodes and as many pods that each need a whole one: a's three, which do not
// change, and b's.
func fullNodes(image string) func(*tinyRecipe) {
	whole := func(pods, image string) string {
		return strings.NewReplacer("replicas: 1", "replicas: "+pods, "{{ toYaml .Values.nodeSelector | nindent 8 }}", "{aicr.nvidia.com/node-type: accelerated}",
			"{{ toYaml .Values.tolerations | nindent 8 }}", "[{operator: Exists}]", `image: "example.com/web:1"`, `image: "example.com/web:`+image+`", resources: {limits: {nvidia.com/gpu: 8}}`).Replace(webTemplate)
	}
	return func(r *tinyRecipe) {
		r.part("a").add("web.yaml", whole("3", "1"))
		r.part("b").add("web.yaml", whole("1", image))
	}
}

func textOf(text string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b-config}\ndata: {text: "+text+"}\n")
	}
}

func claimsOf(size string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("db.yaml", strings.Replace(claimTemplate, "storage: 1Gi", "storage: "+size, 1))
	}
}

// claim is used by b's pod: one that nobody uses is never bound, and then nothing of it may change.
func claim(size string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("pvc.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], storageClassName: standard, resources: {requests: {storage: "+size+"}}}\n")
		r.part("b").edit(`containers: [{name: main, image: "example.com/web:1"}]`, "containers: [{name: main, image: \"example.com/web:1\", volumeMounts: [{name: data, mountPath: /data}]}]\n      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]")
	}
}

// versions are those of the definition in a; the first is the one in which objects are stored.
func versions(names ...string) func(*tinyRecipe) {
	text := strings.SplitN(widgetCRD, "  versions:\n", 2)[0] + "  versions:\n"
	for i, name := range names {
		storage := "false"
		if i == 0 {
			storage = "true"
		}
		text += "  - {name: " + name + ", served: true, storage: " + storage + ", schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n"
	}
	return func(r *tinyRecipe) { r.part("a").add("crd.yaml", text) }
}
