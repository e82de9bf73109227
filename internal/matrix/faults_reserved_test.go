package matrix

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// reservedFaults are what no delivery can end well with, and what an Argo CD as it is installed leaves out.
func reservedFaults() []fault {
	const at = beforeBudget // from the start of the cell: before anything is deployed
	const slice = "apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {ports: [{name: pg, port: 5432}]}\n---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: db-1, labels: {kubernetes.io/service-name: db}}\naddressType: IPv4\nports: [{name: pg, port: 5432, protocol: TCP}]\nendpoints: [{addresses: [10.1.2.3]}]\n"
	brings := func(text string) func(*tinyRecipe) {
		return func(r *tinyRecipe) { r.part("b").add("more.yaml", text) }
	}
	const hook = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: seed, annotations: {helm.sh/hook: post-install}}\nspec: {template: {spec: {restartPolicy: Never, tolerations: [{operator: Exists}], containers: [{name: main, image: \"example.com/seed:1\"}]}}}\n---\n"
	const scaler = "apiVersion: autoscaling/VERSION\nkind: HorizontalPodAutoscaler\nmetadata: {name: b}\nspec: {scaleTargetRef: {apiVersion: TARGET, name: b}, maxReplicas: 3, METRICS}\n"
	scaled := func(version, target, metrics string) string {
		return hook + strings.NewReplacer("VERSION", version, "TARGET", target, "METRICS", metrics).Replace(scaler)
	}
	const byCPU = "metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]"
	return []fault{
		{
			id: "F204", what: "more replicas than all nodes that admit the pods have room for, up to 2,000,000,000", verdict: "exit 1 before anything is deployed, with both numbers and the template's line; no budget grows by pods that cannot be",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) { r.part("b").edit("replicas: 1", "replicas: 2000000000") }, want: red(reason.SchedulingFailed, "Deployment b/b (b): wants 2000000000 pods, and there is room for").and("b/templates/web.yaml:").in(at)}},
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/facts TestRoomPods"},
		},
		{
			id: "F205", what: "an object of a kind that Argo CD excludes (EndpointSlice, Endpoints, Lease, CertificateSigningRequest, …), so that it never applies it", verdict: "exit 51 in Argo CD's lanes before anything is deployed, with the template's line; passes with a note elsewhere, also where the object is what a Service without a selector leads to",
			seeds: []seed{
				{nightly: []string{bundle.ArgoCDOCI}, recipe: brings(slice), want: red(reason.DeployFailed, "EndpointSlice b/db-1 (b): is of a kind that Argo CD excludes by default (resource.exclusions in its settings)").and("b/templates/more.yaml:").in(at)},
				{name: "in other lanes", nightly: []string{bundle.Helm, bundle.FluxOCI}, recipe: brings(slice), want: outcomeWanted{check: note("EndpointSlice b/db-1 (b): is of a kind that Argo CD excludes by default")}},
			},
			tests: []string{"internal/bundle/argoapi TestOf", "internal/bundle/argoapi TestSetting_Upstream", "internal/matrix/checks TestCases"},
		},
		{
			id: "F206", what: "an autoscaler, of a workload or of a custom resource whose operator is simulated, beside a hook that Argo CD runs once all else is healthy", verdict: "passes in every lane: that nothing serves metrics here, and that nobody writes the custom resource's selector, is not the recipe's",
			seeds: []seed{
				{nightly: families, recipe: brings(scaled("v2", "apps/v1, kind: Deployment", byCPU))},
				{name: "v1", nightly: []string{bundle.ArgoCDOCI}, recipe: brings(scaled("v1", "apps/v1, kind: Deployment", "targetCPUUtilizationPercentage: 50"))},
				{name: "of a custom resource", nightly: families, recipe: func(r *tinyRecipe) {
					b := r.part("b")
					b.crds = map[string]string{"widgets.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.org}\nspec:\n  group: example.org\n  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}\n"}
					b.add("widget.yaml", "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: b}\nspec: {replicas: 1}\n")
					b.add("more.yaml", scaled("v2", "example.org/v1, kind: Widget", byCPU))
				}},
			},
			tests: []string{"internal/infra/gitops TestAutoscalerHealth"},
		},
		{
			id: "F207", what: "an object that Kubernetes itself makes in every cluster: cluster-admin or a system: role or binding, kube-root-ca.crt, extension-apiserver-authentication", verdict: "exit 51 in every lane before anything is deployed: Helm refuses to take it over, Argo CD and Flux replace it",
			seeds: []seed{
				{nightly: families, recipe: brings("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: cluster-admin}\nrules: []\n"), want: red(reason.DeployFailed, "ClusterRole cluster-admin (b): is Kubernetes' own: the API server makes it in every cluster").and("b/templates/more.yaml:").in(at)},
				{name: "a chart's own", nightly: []string{bundle.Helm}, recipe: brings("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"system:metrics-server\"}\nrules: []\n")},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{id: "F208", what: "a text with several line breaks at the end of a document (|+), of which Helm 3 cuts some and Helm 4, in Flux, none", verdict: "passes in every lane, without a warning", tests: []string{"internal/matrix/compare TestLastNewline", "internal/matrix/intact TestLost"}},
		{
			id: "F209", what: "a hook's deletion policy that leaves it in the cluster (hook-failed alone), or that is misspelt; a resource policy that is not keep", verdict: "a warning with file and line: Helm 3 cannot create it again with the next upgrade",
			seeds: []seed{{nightly: families, recipe: brings(strings.NewReplacer("helm.sh/hook: post-install", `helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-delete-policy: hook-failed`, "---\n", "").Replace(hook)), want: outcomeWanted{check: warning("Job b/seed (b): is a hook with helm.sh/hook-delete-policy: hook-failed, which leaves it in the cluster once it has succeeded")}}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{id: "F210", what: "an APIService for one of Kubernetes' own groups (v1.apps), which then nothing answers for", verdict: "exit 52 before there is a cluster, in every lane", tests: []string{"internal/bundle/policy TestWhy"}},
		{
			id: "F211", what: "an object that Argo CD takes for a hook of a phase that there is none of (argocd.argoproj.io/hook: postsync), and never applies", verdict: "exit 51 in Argo CD's lanes before anything is deployed, with the phases that there are; passes with a note elsewhere",
			seeds: []seed{
				{nightly: []string{bundle.ArgoCDOCI}, recipe: func(r *tinyRecipe) {
					b := r.part("b") // with an ordinary object too: of hooks alone Argo CD syncs nothing
					b.edit("spec:", "  annotations: {argocd.argoproj.io/hook: postsync}\nspec:")
					b.add("more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n")
				}, want: red(reason.DeployFailed, `Deployment b/b (b): has argocd.argoproj.io/hook: "postsync", which is none of PreSync`).and("b/templates/web.yaml:").in(at)},
				{name: "in Helm", nightly: []string{bundle.Helm}, recipe: func(r *tinyRecipe) {
					r.part("b").edit("spec:", "  annotations: {argocd.argoproj.io/hook: postsync}\nspec:")
				}},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F212", what: "an object with the marks of another deployer (argocd.argoproj.io/tracking-id, meta.helm.sh/release-name), as in a manifest that was exported from a cluster", verdict: "passes in every lane, and is no difference between them: each deployer writes its own",
			seeds: []seed{{nightly: []string{bundle.ArgoCDOCI, bundle.FluxOCI}, recipe: brings("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, annotations: {argocd.argoproj.io/tracking-id: \"a:/ConfigMap:a/more\"}}\n")}},
			tests: []string{"internal/matrix/compare TestNormalise"},
		},
		{
			id: "F217", what: "a policy that denies reports of status (pods/status, */status), and comes after the pods are Ready", verdict: "exit 51: what becomes of the workload, nobody learns",
			seeds: []seed{{nightly: families, recipe: brings("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: mute}\nspec:\n  failurePolicy: Fail\n  matchConstraints: {resourceRules: [{apiGroups: [\"\", apps], apiVersions: [v1], operations: [UPDATE], resources: [\"*/status\"]}]}\n  validations: [{expression: \"false\"}]\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: mute}\nspec: {policyName: mute, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: b}}}}\n"),
				want: red(reason.DeployFailed, "Deployment b/b (b): the API server would reject the next report of its status: ValidatingAdmissionPolicy 'mute'")}},
			tests: []string{"internal/matrix/intact TestRefusedStatus"},
		},
	}
}
