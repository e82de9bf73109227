package matrix

import (
	_ "embed"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// clusterFaults are what only a real cluster decides: what a template renders there, where volumes
// and requests may go, and what YAML means to each of its readers.
func clusterFaults() []fault {
	const at = beforeBudget // from the start of the cell: before anything is deployed
	helms := []string{bundle.Helm, bundle.FluxOCI}
	only := func(condition, text string) string { return "{{- if " + condition + " }}\n" + text + "{{- end }}\n" }
	const found = `lookup "v1" "Namespace" "" "kube-system"`
	extra := func(selector string) func(*tinyRecipe) {
		return func(r *tinyRecipe) {
			r.part("b").add("extra.yaml", only(found, strings.NewReplacer("{{ .Release.Name }}", "extra", "{{ toYaml .Values.nodeSelector | nindent 8 }}", selector).Replace(webTemplate)))
		}
	}
	return []fault{
		{
			id: "F187", what: "a workload that a template renders only in the cluster, e.g. where lookup finds something, whose pods can never run", verdict: "judged like one that was foreseen, and called unforeseen, with the template's line; Argo CD's lookup finds nothing",
			seeds: []seed{
				{nightly: helms, recipe: extra("{nowhere: here}"), want: red(reason.SchedulingFailed, "Deployment b/extra (b)", "nodes are available").and("Deployment b/extra (b) was not foreseen: the cluster has it of b/templates/extra.yaml:3").in(90 * time.Second)},
				{name: "ready", nightly: helms, recipe: extra("{}"), want: outcomeWanted{check: note("Deployment b/extra (b) was not foreseen: the cluster has it of b/templates/extra.yaml:3")}},
				{name: "in Argo CD", nightly: []string{bundle.ArgoCDOCI}, recipe: extra("{nowhere: here}")},
			},
			tests: []string{"internal/matrix/gate TestFind", "internal/matrix/gate TestFind_Pods", "internal/matrix/gate TestGate_Unforeseen"},
		},
		{
			id: "F188", what: "an object that a template renders only without a cluster, e.g. where lookup finds nothing", verdict: "passes where Helm has rendered its release without it, with a note; a workload likewise",
			seeds: []seed{
				{nightly: helms, recipe: func(r *tinyRecipe) {
					r.part("b").add("once.yaml", only("not ("+found+")", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: once}\n"))
				}, want: outcomeWanted{check: note("ConfigMap b/once (b, b/templates/once.yaml) is not in the cluster: what was rendered without a cluster has it")}},
				{name: "workload", nightly: helms, recipe: func(r *tinyRecipe) {
					r.part("b").add("once.yaml", only("not ("+found+")", strings.ReplaceAll(webTemplate, "{{ .Release.Name }}", "once")))
				}, want: outcomeWanted{check: note("Deployment b/once (b, b/templates/once.yaml) is not in the cluster: what was rendered without a cluster has it")}},
			},
		},
		{
			id: "F189", what: "a StorageClass for places that no node has (allowedTopologies), whether it binds at once or with the first pod", verdict: "exit 2 before anything is deployed, in every lane, with the claim and the places",
			seeds: []seed{
				{nightly: families, recipe: zonal("Immediate"), want: red(reason.SchedulingFailed, "PersistentVolumeClaim b/data (b): claim data wants StorageClass zonal, which allows only nodes with topology.kubernetes.io/zone in [nowhere-1a]").and("b/templates/claim.yaml:").in(at)},
				{name: "with the first pod", nightly: families, recipe: zonal("WaitForFirstConsumer"), want: red(reason.SchedulingFailed, "claim data wants StorageClass zonal").in(at)},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F193", what: "a key that a container mounts by itself (subPath) or a volume picks (items), and that the ConfigMap or Secret of the recipe lacks; a subPath that no item makes", verdict: "exit 1 before anything is deployed, in every lane",
			seeds: []seed{
				{nightly: families, recipe: mountsPart("configMap: {name: settings}", "app.yml"), want: red(reason.WorkloadFailed, "Deployment b/b (b): mounts key app.yml of ConfigMap b/settings, which has no such key (it has app.yaml)").and("b/templates/web.yaml:").in(at)},
				{name: "item", nightly: families, recipe: mountsPart("configMap: {name: settings, items: [{key: app.yml, path: app.yaml}]}", "app.yaml"), want: red(reason.WorkloadFailed, "Deployment b/b (b): mounts key app.yml of ConfigMap b/settings, which has no such key").in(at)},
				{name: "path", nightly: families, recipe: mountsPart("configMap: {name: settings, items: [{key: app.yaml, path: config.yaml}]}", "app.yaml"), want: red(reason.WorkloadFailed, "Deployment b/b (b): mounts app.yaml of volume v (subPath), and no item of the volume has that path").in(at)},
				{name: "right", nightly: []string{bundle.Helm}, recipe: mountsPart("configMap: {name: settings}", "app.yaml")},
			},
			tests: []string{"internal/matrix/facts TestOf_Parts", "internal/matrix/checks TestCases"},
		},
		{
			id: "F194", what: "a Gateway whose class nobody serves, a route whose Gateway, listener or backend is not there; a ServiceMonitor's port that the Service does not name, an autoscaler by requests that a container lacks, a certificate's or pull Secret that is none; a ReadWriteMany claim of a driver of disks", verdict: "a warning, as for an Ingress: a cluster may have its own; the claim is exit 2",
			seeds: []seed{{name: "shared disk", nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("disks.yaml", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: disks}\nprovisioner: ebs.csi.aws.com\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: disks, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}\n")
			}, want: red(reason.SchedulingFailed, "PersistentVolumeClaim b/data (b): claim data is ReadWriteMany, and StorageClass disks makes disks (ebs.csi.aws.com)")}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F195", what: "an APIService or a webhook that fails closed, of a Service that selects no pod", verdict: "exit 51: the API server cannot call it",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("api.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: api}\nspec: {selector: {app: nobody}, ports: [{port: 443}]}\n---\napiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.things.example.com}\nspec: {group: things.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100, service: {name: api, namespace: b}, insecureSkipTLSVerify: true}\n")
			}, want: red(reason.DeployFailed, "APIService v1.things.example.com (b): is served by Service b/api, whose selector (app=nobody) is that of no pod")}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{id: "F196", what: "a manifest with metadata.generateName and no name, outside of a hook that Argo CD runs", verdict: "exit 52 before there is a cluster: Helm and Flux look objects up by their names, and Argo CD makes a name for hooks only", tests: []string{"internal/bundle/rendering TestParse_NoName", "internal/bundle/rendering TestRelease_HookWithoutName"}},
		{
			id: "F197", what: "a word that is a boolean to Helm and Argo CD and text to Flux (y, n, yes, no, on, off without quotes), as a key or a value, in a CustomResourceDefinition too", verdict: "a warning in every lane, with the template's line; exit 53 where lanes differ by it",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("words.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: words}\ndata:\n  n: x\n")
			}, want: outcomeWanted{check: warning("b: data.n is a key without quotes: Helm and Argo CD read it as false, and Flux as text (b/templates/words.yaml:5)")}}},
			tests: []string{"internal/bundle/rendering TestDoubtful"},
		},
		{
			id: "F198", what: "a MutatingAdmissionPolicy that gives pods a selector of no node, or fails at it, and comes after them", verdict: "exit 1: no pod could be placed, or made, again",
			seeds: []seed{
				{nightly: families, recipe: steersAway(`{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "add", path: "/spec/nodeSelector", value: {"nowhere": "here"}}]'}}`),
					want: red(reason.WorkloadFailed, "Deployment b/b (b): no node would admit its next pod, to which MutatingAdmissionPolicy away gives the nodeSelector nowhere=here").and("b/templates/policy.yaml")},
				{name: "which it cannot give", nightly: families, recipe: steersAway(`{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{nodeSelector: {"nowhere": "here"}}}'}}`),
					want: red(reason.WorkloadFailed, "Deployment b/b (b): the API server would reject its next pod: policy 'away' with binding 'away' denied request: error applying patch").and("MutatingAdmissionPolicy away (b) denies it, set in b/templates/policy.yaml:")},
			},
			tests: []string{"internal/matrix/intact TestStrayed"},
		},
		{
			id: "F199", what: "a manifest that is a request and no object (TokenRequest, SubjectAccessReview), of which the API server stores nothing", verdict: "exit 51 before anything is deployed, in every lane",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("review.yaml", "apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nmetadata: {name: may}\nspec: {user: x, nonResourceAttributes: {path: /, verb: get}}\n")
			}, want: red(reason.DeployFailed, "SubjectAccessReview b/may (b): is a request, of which the API server stores nothing").and("b/templates/review.yaml:").in(at)}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
	}
}

//go:embed testdata/objects/mutates_pods.yaml
var mutatesPods string

func steersAway(mutation string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("policy.yaml", strings.Replace(mutatesPods, "MUTATION", mutation, 1))
	}
}

func note(text string) func(*testing.T, result.Result) {
	return func(t *testing.T, r result.Result) {
		t.Helper()
		testkit.WantText(t, "notes", strings.Join(r.Notes, "\n"), text)
	}
}

func zonal(mode string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("class.yaml", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: zonal}\nprovisioner: ebs.csi.aws.com\nvolumeBindingMode: "+mode+"\nallowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [nowhere-1a]}]}]\n")
		r.part("b").add("claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: zonal, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n")
		r.part("b").edit("      containers:", "      volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n      containers:")
	}
}

func mountsPart(volume, part string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {app.yaml: x}\n")
		r.part("b").edit(`      containers: [{name: main, image: "example.com/web:1"}]`, "      volumes: [{name: v, "+volume+"}]\n      containers: [{name: main, image: \"example.com/web:1\", volumeMounts: [{name: v, mountPath: /etc/app.yaml, subPath: "+part+"}]}]")
	}
}
