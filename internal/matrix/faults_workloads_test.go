package matrix

import (
	_ "embed"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// workloadFaults are faults of pods that a simulated kubelet would run, and of workloads that are
// easily left out.
func workloadFaults() []fault {
	helm, controllers := []string{bundle.Helm}, []string{bundle.ArgoCDOCI, bundle.FluxOCI}
	set := func(kind, group, selector, pod string) func(*tinyRecipe) {
		text := "apiVersion: " + group + "\nkind: " + kind + "\nmetadata: {name: set}\nspec: {selector: " + selector + ", template: {metadata: {labels: {app: set}}, spec: " + pod + "}}\n"
		return func(r *tinyRecipe) { r.part("b").add("set.yaml", text) }
	}
	main := `containers: [{name: main, image: "example.com/set:1"`
	return []fault{
		{
			id: "F83", what: "a ReplicaSet or ReplicationController without a Deployment, whose pods can never start", verdict: "exit 1: every kind that makes pods counts",
			seeds: []seed{
				{name: "ReplicaSet", nightly: families, recipe: set("ReplicaSet", "apps/v1", "{matchLabels: {app: set}}", "{nodeSelector: {disktype: ssd}, tolerations: [{operator: Exists}], "+main+"}]}"),
					want: red(reason.SchedulingFailed, "ReplicaSet b/set (b): 0/6 nodes are available", "didn't match Pod's node affinity/selector")},
				{name: "ReplicationController", nightly: families, recipe: set("ReplicationController", "v1", "{app: set}", "{tolerations: [{operator: Exists}], "+main+", envFrom: [{secretRef: {name: nobodys}}]}]}"),
					want: red(reason.WorkloadFailed, "ReplicationController b/set (b): takes its environment from Secret b/nobodys, which does not exist")},
			},
			tests: []string{"internal/observe TestReplicaSets_WithoutDeployment"},
		},
		{
			id: "F84", what: "a Job that is deleted once it has finished (ttlSecondsAfterFinished), complete or failed", verdict: "passes if it was seen complete; exit 1 if it failed, although it is gone; exit 51 in Argo CD's lanes, which create it again for ever",
			seeds: []seed{
				{name: "complete", nightly: []string{bundle.Helm, bundle.FluxOCI}, recipe: shortLivedJob("")},
				{name: "failed", nightly: []string{bundle.Helm, bundle.FluxOCI}, runner: stage(fails), recipe: shortLivedJob("  backoffLimit: 0\n"),
					want: red(reason.WorkloadFailed, "Job b/b-job (b): the Job failed: BackoffLimitExceeded")},
				{name: "comes again", lanes: []string{bundle.ArgoCDOCI}, nightly: []string{bundle.ArgoCDHelmOCI}, recipe: shortLivedJob(""),
					want: red(reason.DeployFailed, "Job b/b-job (b): is deleted 0s after it has finished (spec.ttlSecondsAfterFinished: 0), and is no hook")},
			},
			tests: []string{"internal/observe TestJobs_Deleted", "internal/matrix/checks TestCases"},
		},
		{
			id: "F85", what: "a volume that no driver mounts, a claim that is filled from nothing, a readiness gate that nothing sets, a pod for another operating system, a Node that a chart contains", verdict: "exit 1: a kubelet starts none of the containers, or the pod never becomes ready",
			seeds: []seed{
				{name: "inline CSI", lanes: helm, nightly: controllers, recipe: func(r *tinyRecipe) {
					r.part("b").edit("containers: [{name: main,", "volumes: [{name: keys, csi: {driver: nobodys.example.com}}]\n      containers: [{name: main, volumeMounts: [{name: keys, mountPath: /keys}],")
				}, want: red(reason.WorkloadFailed, "Deployment b/b (b): mounts an inline volume of CSI driver nobodys.example.com, which nothing in the recipe installs")},
				{name: "readiness gate", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").edit("      containers:", "      readinessGates: [{conditionType: example.com/warm}]\n      containers:")
				}, want: red(reason.WorkloadFailed, "Deployment b/b (b): has the readiness gate example.com/warm")},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F86", what: "a HorizontalPodAutoscaler whose least number of pods has no room", verdict: "exit 1: the workload has as many pods as the autoscaler gives it, and not as the template says",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("hpa.yaml", strings.NewReplacer("name: nobody", "name: b", "maxReplicas: 2", "minReplicas: 9, maxReplicas: 9").Replace(nowhereHPA))
				r.part("b").edit("  replicas: 1\n", "")
				r.part("b").edit("      containers:", "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: b}}}]}}\n      containers:")
			}, want: red(reason.SchedulingFailed, "Deployment b/b (b): 0/6 nodes are available").in(4 * time.Minute)}},
			tests: []string{"internal/bundle/operators TestScaled"},
		},
		{
			id: "F87", what: "what the API server fills in only in some lanes: the labels of a Job without any", verdict: "no difference between lanes",
			tests: []string{"internal/matrix/compare TestDefaults_CreateAndApply", "internal/matrix/compare TestNormalise"},
		},
		{
			id: "F88", what: "a PodDisruptionBudget that allows nothing, a load balancer's class that nothing serves, a port that no container has, a binding to a role that does not exist", verdict: "a warning with file and line",
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F89", what: "a webhook whose caBundle is not of the authority of its certificate, or has none that anything fills in", verdict: "exit 51: the API server trusts nothing that answers for it; where it fails open, a warning",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("hook.yaml", untrustedWebhook)
			}, want: red(reason.DeployFailed, "ValidatingWebhookConfiguration b-hook (b): webhook b.example.com has a caBundle that is not of the authority of the certificate in Secret b/b-tls")}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F90", what: "a workload that needs an object which its deployer creates only once the workload is ready: a later release, a sync wave, an ordinary object that a hook needs", verdict: "exit 1 before anything is deployed, in the lanes that wait",
			seeds: []seed{{lanes: helm, nightly: controllers, recipe: func(r *tinyRecipe) {
				r.part("b").add("hook.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: late}\n---\n"+strings.NewReplacer("{name: {{ .Release.Name }}-job}", "{name: early, annotations: {helm.sh/hook: pre-install}}", "LABEL", "x", "containers:", "serviceAccountName: late\n      containers:").Replace(jobTemplate))
			}, want: red(reason.WorkloadFailed, "runs as ServiceAccount b/late, which the same release creates only later (b/templates/hook.yaml), once this Job has finished; it is a hook").in(beforeBudget)}},
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/checks TestShippedRecipes"},
		},
		{
			id: "F91", what: "pods of a system priority on GKE, in a namespace without a quota for it", verdict: "exit 1: GKE's API server rejects them",
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/checks TestShippedRecipes"},
		},
		{
			id: "F92", what: "a webhook that fails closed and is for objects of a component that does not depend on its own", verdict: "a warning with file and line: one fails while the other starts",
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/checks TestShippedRecipes"},
		},
		{
			id: "F93", what: "a variable, a port or a pull secret twice in one list of a pod template, or a key twice in a manifest", verdict: "a warning with file and line, also in the lanes that let it pass",
			tests: []string{"internal/matrix/checks TestCases", "internal/bundle/rendering TestDoubtful"},
		},
	}
}

// untrustedWebhook has two authorities: one signs the certificate, and the other is the webhook's.
//
//go:embed testdata/objects/untrusted_webhook.yaml
var untrustedWebhook string

// fails is a stage that lets a Job's pod fail once it runs.
//
//go:embed testdata/objects/fails.yaml
var fails string

// shortLivedJob has a Job that is deleted as soon as it has finished.
func shortLivedJob(more string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("job.yaml", strings.NewReplacer("LABEL", "fails", "spec:\n  template:", "spec:\n  ttlSecondsAfterFinished: 0\n"+more+"  template:").Replace(jobTemplate))
	}
}
