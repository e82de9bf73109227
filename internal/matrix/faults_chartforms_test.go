package matrix

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// chartFormFaults are forms of charts that many clusters run, and that were taken for wrong, or for right.
func chartFormFaults() []fault {
	const (
		anonymous = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: heartbeat}\nspec: {schedule: '0 0 1 1 *', jobTemplate: {spec: {template: {spec: {serviceAccount: nope, restartPolicy: Never, tolerations: [{operator: Exists}], containers: [{name: m, image: 'example.com/m:1'}]}}}}}\n"
		profile   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: profiles}\ndata:\n  config.yaml: |\n    apiVersion: kubescheduler.config.k8s.io/v1\n    kind: KubeSchedulerConfiguration\n    profiles: [{schedulerName: fair}]\n"
		events    = "apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: events}\nspec: {}\n"
	)
	kafka := strings.NewReplacer("widgets.faults.example.com", "kafkas.kafka.strimzi.io", "faults.example.com", "kafka.strimzi.io", "Widget", "Kafka", "widgets", "kafkas", "widget", "kafka", "name: v1", "name: v1beta2").Replace(widgetCRD)
	return []fault{
		{
			id: "F257", what: "pods that name their ServiceAccount by the older field, serviceAccount, and the account does not exist, or comes only after them", verdict: "exit 1, as with serviceAccountName",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) { r.part("b").add("heartbeat.yaml", anonymous) }, want: red(reason.WorkloadFailed, "CronJob b/heartbeat (b): names ServiceAccount b/nope, which does not exist").in(beforeBudget)}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F258", what: "pods for a kube-scheduler of the recipe whose name is only in the configuration that it mounts", verdict: "passes: kube-scheduler places them in its name",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				b := r.part("b")
				b.edit(`image: "example.com/web:1"`, `image: "example.com/kube-scheduler:1"`)
				b.edit("containers: [{name: main,", "volumes: [{name: c, configMap: {name: profiles}}]\n      containers: [{name: main, volumeMounts: [{name: c, mountPath: /c}],")
				b.add("profiles.yaml", profile)
				b.add("work.yaml", strings.Replace(worksFor, "SELECTOR", "{}", 1))
			}}},
			tests: []string{"internal/matrix/facts TestSchedulers"},
		},
		{
			id: "F259", what: "a Secret that an operator names after its custom resource, which no field has: of Strimzi, CloudNativePG, RabbitMQ, ECK and others", verdict: "passes, not verified; exit 1 for another name",
			seeds: []seed{
				{nightly: families, recipe: func(r *tinyRecipe) {
					takes("events-cluster-ca-cert")(r)
					r.part("b").crds = map[string]string{"kafkas.yaml": kafka}
					r.part("b").add("events.yaml", events)
				}},
				{name: "of another one", nightly: []string{bundle.Helm}, recipe: func(r *tinyRecipe) {
					takes("event-cluster-ca-cert")(r)
					r.part("b").crds = map[string]string{"kafkas.yaml": kafka}
					r.part("b").add("events.yaml", events)
				}, want: red(reason.WorkloadFailed, "Secret b/event-cluster-ca-cert, which does not exist")},
			},
			tests: []string{"internal/matrix/facts TestMakes"},
		},
		{
			id: "F260", what: "a Service for labels that its pods give themselves when they run (the leader), a RoleBinding's subject without a namespace: neither is missing", verdict: "no warning; one if the pods may not change pods, or have other labels",
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F261", what: "a directory of Applications of which Argo CD reads only some files: no recurse, include, exclude; a HelmRelease's optional values that no file has", verdict: "`--app` delivers what Argo CD and Flux deliver, and nothing else is read",
			tests: []string{"internal/bundle/argoapi TestFiles", "internal/intake/app TestOpen_Layouts", "internal/intake/app TestOpen"},
		},
		{
			id: "F262", what: "a chart's dependency by a range of versions, whose archive is in charts/; helmfile, which downloads it again", verdict: "is there; exit 2 with its line if it is not",
			tests: []string{"internal/charts/archive TestLacking", "internal/intake/app TestHelmfile_Dependencies"},
		},
		{
			id: "F263", what: "a custom resource whose definition is a template of the same chart, which Helm never installs on a new cluster", verdict: "exit 51, with both lines and the edit",
			tests: []string{"internal/matrix/why TestLocate_RemovedAPI"},
		},
	}
}

// takes has a container of b take a variable from a Secret.
func takes(secret string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").edit(`image: "example.com/web:1"`, `image: "example.com/web:1", env: [{name: P, valueFrom: {secretKeyRef: {name: `+secret+`, key: k}}}]`)
	}
}
