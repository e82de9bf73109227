package matrix

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// wrongGreens are faults that a simulated kubelet, provisioner or webhook does not notice by
// itself.
func wrongGreens() []fault {
	helm, controllers := []string{bundle.Helm}, []string{bundle.ArgoCDOCI, bundle.FluxOCI}
	return []fault{
		{
			id: "F46", what: "a claim of a StorageClass that does not exist", verdict: "exit 1, the class named, before anything is delivered",
			seeds: []seed{
				{name: "template", nightly: families, recipe: func(r *tinyRecipe) { r.part("b").add("db.yaml", classless) },
					want: red(reason.SchedulingFailed, "StatefulSet b/b-db (b): claim data wants StorageClass gp9, which does not exist")},
				{name: "no pod of it", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("db.yaml", strings.Replace(classless, "replicas: 2", "replicas: 0", 1))
				}, want: red(reason.SchedulingFailed, "StatefulSet b/b-db (b): claim data wants StorageClass gp9, which does not exist")},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F47", what: "a pod that needs a Secret, a ConfigMap or a key of one that nothing makes", verdict: "exit 1: a kubelet starts none of its containers; what is made at run time is a note",
			seeds: []seed{
				{name: "Secret", lanes: helm, nightly: append(controllers[:2:2], otherLanes...), recipe: func(r *tinyRecipe) {
					r.part("b").edit(`image: "example.com/web:1"`, `image: "example.com/web:1", envFrom: [{secretRef: {name: {{ .Values.login }}}}]`)
					r.part("b").values = "login: nobodys"
				}, want: red(reason.WorkloadFailed, "Deployment b/b (b): takes its environment from Secret b/nobodys, which does not exist").and("value path login, set in ", "components/b/values.yaml:1")},
				{name: "key", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a.yaml: x}\n")
					r.part("b").edit("containers: [{name: main,", "volumes: [{name: conf, configMap: {name: conf, items: [{key: b.yaml, path: b}]}}]\n      containers: [{name: main, volumeMounts: [{name: conf, mountPath: /conf}],")
				}, want: red(reason.WorkloadFailed, "Deployment b/b (b): mounts key b.yaml of ConfigMap b/conf, which has no such key (it has a.yaml)")},
				{name: "made at run time", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").crds = map[string]string{"certificates.yaml": certificateCRD}
					r.part("b").add("certificate.yaml", certificate)
					r.part("b").edit("containers: [{name: main,", "imagePullSecrets: [{name: login}]\n      volumes: [{name: tls, secret: {secretName: tls}}]\n      containers: [{name: main, volumeMounts: [{name: tls, mountPath: /tls}],")
				}, want: outcomeWanted{check: func(t *testing.T, r result.Result) {
					t.Helper()
					testkit.WantText(t, "not verified", strings.Join(r.NotVerified, "\n"), "Secret b/tls is made at run time by Certificate.cert-manager.io b/b (b)")
					testkit.WantText(t, "warnings", strings.Join(r.Warnings, "\n"), "imagePullSecrets names Secret b/login, which does not exist")
				}}},
			},
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/facts TestReadLive_NoSecretValues"},
		},
		{
			id: "F48", what: "a workload that does not start by itself (a CronJob, 0 replicas) and whose pods no node admits", verdict: "exit 1, as if it had started",
			seeds: []seed{{lanes: helm, nightly: append(controllers[:2:2], otherLanes...), recipe: func(r *tinyRecipe) {
				r.part("b").add("nightly.yaml", nightly)
				r.part("b").values = "nodeSelector:\n  disktype: ssd"
				r.part("b").edit("{{ toYaml .Values.nodeSelector | nindent 8 }}", "{}")
			}, want: red(reason.SchedulingFailed, "CronJob b/nightly (b): no node would admit its pods").and("value path nodeSelector.disktype, set in ", "components/b/values.yaml:2")}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F49", what: "a reference between objects that leads nowhere", verdict: "exit 51 where it makes the recipe not work; a warning with file and line where it may be on purpose",
			seeds: []seed{
				{name: "HPA", nightly: families, recipe: func(r *tinyRecipe) { r.part("b").add("hpa.yaml", nowhereHPA) }, want: red(reason.DeployFailed, "HorizontalPodAutoscaler b/b (b): scales Deployment b/nobody, which does not exist")},
				{name: "webhook", lanes: helm, nightly: controllers, recipe: func(r *tinyRecipe) {
					r.part("b").add("webhook.yaml", strings.Replace(webhookTemplate, "name: {{ .Release.Name }}, path", "name: nobody, path", 1))
				}, want: red(reason.DeployFailed, "ValidatingWebhookConfiguration everything (b): webhook everything.faults.example.com calls Service b/nobody, which does not exist")},
				{name: "selectors", nightly: families, recipe: func(r *tinyRecipe) { r.part("b").add("nowhere.yaml", nowhereSelectors) }, want: outcomeWanted{check: func(t *testing.T, r result.Result) {
					t.Helper()
					testkit.WantText(t, "warnings", strings.Join(r.Warnings, "\n"), "PodDisruptionBudget b/b (b): selects pods with app=nobody, and there are none", "Service b/nobody (b): selects pods with app=nobody", "overlays/tiny.yaml:")
				}}},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F50", what: "a field that the API server does not know, which Helm lets it drop without a word; one of a custom resource that its original does not have", verdict: "exit 51 in every lane, the field named",
			seeds: []seed{{lanes: helm, nightly: append(controllers[:2:2], otherLanes...), recipe: unknownField, want: red(reason.DeployFailed, "sizee")}},
			tests: []string{"internal/infra TestWarnings", "internal/matrix/lane/helm TestUnknownFields", "internal/bundle TestCustomResources"},
		},
		{
			id: "F51", what: "a recipe whose constraint on Kubernetes' version the cell's own API server breaks", verdict: "exit 56 before anything starts, with file and line; skipped in a sweep; other constraints are notes",
			tests: []string{"internal/recipe TestConstraints", "internal/matrix TestPlanConstraints"},
		},
		{
			id: "F64", what: "pods for a scheduler that the recipe itself installs, whose pods are simulated", verdict: "passes: kube-scheduler places them in its name, and the result says so; a pod that fits on no node fails",
			seeds: []seed{
				{name: "fits", nightly: families, recipe: ownScheduler("{}"), want: outcomeWanted{check: func(t *testing.T, r result.Result) {
					t.Helper()
					testkit.WantText(t, "stand-ins", strings.Join(r.StandIns, "\n"), "scheduler fair (kube-scheduler places its pods")
				}}},
				{name: "fits nowhere", lanes: helm, recipe: ownScheduler("{disktype: ssd}"),
					want: red(reason.SchedulingFailed, "Deployment b/b-work (b): 0/6 nodes are available", "didn't match Pod's node affinity/selector")},
			},
			tests: []string{"internal/matrix/facts TestSchedulers", "internal/observe TestCheckWorkloads"},
		},
	}
}

// ownScheduler has a Deployment for the scheduler fair, which another Deployment of the recipe
// runs.
func ownScheduler(selector string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		b := r.part("b")
		b.edit(`image: "example.com/web:1"`, `image: "example.com/fair-scheduler:1", args: ["--scheduler-name=fair"]`)
		b.add("work.yaml", strings.Replace(worksFor, "SELECTOR", selector, 1))
	}
}

//go:embed testdata/objects/works_for.yaml
var worksFor string

// unknownField has a custom resource with a field that its CRD does not have.
func unknownField(r *tinyRecipe) {
	b := r.part("b")
	b.crds = map[string]string{"widgets.yaml": strings.Replace(widgetCRD, "x-kubernetes-preserve-unknown-fields: true",
		"properties: {spec: {type: object, properties: {size: {type: integer}}}}", 1)}
	b.add("widget.yaml", strings.Replace(widget, "{size: 1}", "{sizee: 1}", 1))
}

var classless = strings.Replace(strings.SplitN(claimTemplate, "---\n", 2)[1], "storageClassName: gp3", "storageClassName: gp9", 1)

const (
	nowhereHPA = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: {{ .Release.Name }}}
spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nobody}}
`
	nowhereSelectors = `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: {{ .Release.Name }}}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: nobody}}}
---
apiVersion: v1
kind: Service
metadata: {name: nobody}
spec: {selector: {app: nobody}, ports: [{port: 80}]}
`
)

//go:embed testdata/objects/nightly.yaml
var nightly string
