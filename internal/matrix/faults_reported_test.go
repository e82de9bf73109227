package matrix

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// reportedFaults are those that users of other charts have reported in public.
func reportedFaults() []fault {
	argo, others := []string{bundle.ArgoCDOCI}, []string{bundle.Helm, bundle.FluxOCI}
	const waits = "gets a volume only once a pod uses it (volumeBindingMode: WaitForFirstConsumer), and Argo CD creates Deployment b/b, whose pods do, in a later sync wave or phase (b/templates/web.yaml)"
	return []fault{
		{
			id: "F279", what: "a chart whose kubeVersion, or whose template, compares the version of Kubernetes with a constraint that takes no pre-release (>= 1.21.0): the API servers of EKS and GKE call theirs v1.36.1-eks-3025e55", verdict: "exit 51 in Helm's and Flux's lanes on nodes of these providers, with the line of Chart.yaml and what to write; a warning for Argo CD, which cuts the end off, and for a template",
			seeds: []seed{
				{nightly: others, recipe: forVersions(">= 1.21.0"), want: red(reason.DeployFailed, `is of chart b 1.0.0, whose kubeVersion is ">= 1.21.0", and to that the API server of EKS, e.g. v1.36.`).and(`write ">= 1.21.0-0"`, "set in b/Chart.yaml:4").in(beforeBudget)},
				{nightly: argo, recipe: forVersions(">= 1.21.0"), want: outcomeWanted{check: warning(`is of chart b 1.0.0, whose kubeVersion is ">= 1.21.0"`)}},
				{name: "with pre-releases", nightly: families, recipe: forVersions(">= 1.21.0-0")},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F280", what: "a claim in a sync wave before that of its pods, or as a hook, of a class that waits for a pod: Argo CD waits for the claim, and the claim for a pod", verdict: "exit 51 in Argo CD before anything is deployed, with the claim's line and what to do; passes elsewhere",
			seeds: []seed{
				{name: "wave", nightly: argo, recipe: earlyClaim(`argocd.argoproj.io/sync-wave: "-1"`), want: red(reason.DeployFailed, "PersistentVolumeClaim b/data (b): "+waits).in(beforeBudget)},
				{name: "hook", nightly: argo, recipe: earlyClaim("helm.sh/hook: pre-install"), want: red(reason.DeployFailed, "PersistentVolumeClaim b/data (b): "+waits).in(beforeBudget)},
				{name: "wave", nightly: others, recipe: earlyClaim(`argocd.argoproj.io/sync-wave: "-1"`)},
				{name: "one wave", nightly: argo, recipe: earlyClaim("a: b")},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F281", what: "a CronJob, a suspended Job or a workload with 0 replicas whose RuntimeClass is for nodes that there are none of (scheduling.nodeSelector)", verdict: "exit 1: no node would admit its pods; for pods that there are, too, the RuntimeClass is named and not the template",
			seeds: []seed{
				{nightly: families, recipe: ofRuntimeClass("katacontainers.io/kata-runtime: 'true'"), want: red(reason.SchedulingFailed, "CronJob b/beat (b): no node would admit its pods").and("scheduling.nodeSelector of RuntimeClass kata, from which the API server adds it").in(beforeBudget)},
				{name: "that there are", nightly: families, recipe: ofRuntimeClass("kubernetes.io/os: linux")},
			},
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/why TestTemplateRefusal_RuntimeClass"},
		},
		{
			id: "F282", what: "a policy that cannot be evaluated at all, e.g. for parameters of a kind that no component defines, and comes after the pods", verdict: "exit 1 in every lane: no pod could be created again; the API server says it in other words than for a policy that denies",
			seeds: []seed{
				{nightly: families, recipe: withoutParameters("{apiVersion: rules.example.com/v1, kind: PodLimit}"), want: red(reason.WorkloadFailed, "the API server ", "ValidatingAdmissionPolicy 'limits' denied request: failed to configure policy: failed to find resource referenced by paramKind").and("ValidatingAdmissionPolicy limits (b", "b/templates/policy.yaml").in(beforeBudget)},
				{name: "parameters that there are", nightly: families, recipe: withoutParameters("{apiVersion: v1, kind: ConfigMap}")},
			},
			tests: []string{"internal/matrix/intact TestDenied", "internal/observe TestRefusedWorkload_Policy"},
		},
		{
			id: "F283", what: "a webhook that fails closed and is served with a Certificate for another name than its Service's, or whose caBundle is to come from another Certificate than the pods serve with", verdict: "exit 51 before anything is deployed, in every lane: the API server trusts nothing that answers; with both objects, the name that it asks for, and the line",
			seeds: []seed{
				{nightly: families, recipe: servedWith("guard.kube-system.svc", "b/serving"), want: red(reason.DeployFailed, "webhook guard.example.com is served with Certificate.cert-manager.io b/serving (b), which is for guard.kube-system.svc, and the API server asks for guard.b.svc").and("add guard.b.svc to its dnsNames").in(beforeBudget)},
				{name: "written from another", nightly: []string{bundle.Helm}, recipe: servedWith("guard.b.svc", "cert-manager/serving"), want: red(reason.DeployFailed, "has its caBundle written from Certificate cert-manager/serving (cert-manager.io/inject-ca-from), which does not exist").in(beforeBudget)},
				{name: "for the Service", nightly: families, recipe: servedWith("guard.b.svc", "b/serving")},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F284", what: "a StatefulSet of several pods whose Service is not headless, or is for other pods; a VolumeSnapshot of a class that nothing makes", verdict: "a warning with file and line",
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F285", what: "a CustomResourceDefinition whose schema the API server rejects: a default that its own schema does not take, a rule that costs too much, a field without a type", verdict: "exit 51 in every lane, with the line of that field and not that of the definition",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").crds = map[string]string{"widgets.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.faults.example.com}\nspec:\n  group: faults.example.com\n  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          size:\n            type: integer\n            minimum: 1\n            default: 0\n"}
			}, want: red(reason.DeployFailed, "properties[size].default: Invalid value: 0").and("set in b/crds/widgets.yaml:19").in(beforeBudget)}},
			tests: []string{"internal/matrix/why TestRejectedField_Definition"},
		},
		{
			id: "F286", what: "a claim, or another object of which the cluster fills in what cannot change, that Argo CD is told to replace as a whole (argocd.argoproj.io/sync-options: Replace=true)", verdict: "exit 73 in Argo CD with the option as the cause, though the bundle changes a label only; passes elsewhere",
			seeds: []seed{
				{nightly: argo, old: older(replacedClaim("1")), recipe: replacedClaim("2"), want: red(reason.UpgradeFailed, "the upgrade from old: Application b: PersistentVolumeClaim b/data").and("Argo CD replaces the whole object (argocd.argoproj.io/sync-options: Replace=true)")},
				{nightly: others, old: older(replacedClaim("1")), recipe: replacedClaim("2"), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/daytwo TestFailed"},
		},
		{
			id: "F287", what: "a chart whose release is too large for Helm's Secret, a definition that is too long for the annotation of Argo CD's client-side apply", verdict: "exit 51 in the lanes in which it is, with the chart's largest files, or with the sync option that helps",
			tests: []string{"internal/matrix/why TestLocate_TooLong"},
		},
		{
			id: "F288", what: "a custom resource that names another which nothing in the recipe makes: a LocalQueue's ClusterQueue, its flavor, a job's queue, a TrainJob's runtime, a NodeSet's controller, a NIMService's cache", verdict: "a warning with file and line, where the recipe defines the kind; with `--operators`, F226",
			tests: []string{"internal/matrix/checks TestCases"},
		},
	}
}

// earlyClaim gives the pods of b a claim with an annotation.
func earlyClaim(annotation string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		b := r.part("b")
		b.edit("      containers: [{", "      volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n      containers: [{volumeMounts: [{name: d, mountPath: /d}], ")
		b.add("claim.yaml", strings.Replace("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, annotations: {%}}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n", "%", annotation, 1))
	}
}

// ofRuntimeClass adds a CronJob whose RuntimeClass is for nodes with a label.
func ofRuntimeClass(label string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("beat.yaml", "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata\nscheduling: {nodeSelector: {"+label+"}}\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: beat}\nspec: {schedule: '0 0 1 1 *', jobTemplate: {spec: {template: {spec: {runtimeClassName: kata, restartPolicy: Never, tolerations: [{operator: Exists}], containers: [{name: m, image: 'example.com/m:1'}]}}}}}\n")
	}
}

// withoutParameters adds a policy with parameters of a kind, and those of a ConfigMap.
func withoutParameters(kind string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("policy.yaml", strings.Replace(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limits}
spec:
  paramKind: KIND
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "object.spec.containers.size() < 100"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limits}
spec: {policyName: limits, validationActions: [Deny], paramRef: {name: most, namespace: b, parameterNotFoundAction: Deny}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: most}
`, "KIND", kind, 1))
	}
}

// forVersions gives b's chart a constraint on the version of Kubernetes.
func forVersions(constraint string) func(*tinyRecipe) {
	return func(r *tinyRecipe) { r.part("b").kubeVersion = constraint }
}

// servedWith adds a webhook of b's pods, for other namespaces, with a Certificate for a name.
func servedWith(host, from string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		kind := func(kind, plural string) string {
			return strings.NewReplacer("widgets.faults.example.com", plural+".cert-manager.io", "faults.example.com", "cert-manager.io", "Widget", kind, "widgets", plural, "widget", strings.ToLower(kind)).Replace(widgetCRD)
		}
		r.part("a").crds = map[string]string{"certificates.yaml": kind("Certificate", "certificates"), "issuers.yaml": kind("Issuer", "issuers")}
		b := r.part("b")
		b.edit("      containers: [{", "      volumes: [{name: tls, secret: {secretName: tls}}]\n      containers: [{ports: [{containerPort: 8443}], volumeMounts: [{name: tls, mountPath: /tls}], ")
		b.add("guard.yaml", strings.NewReplacer("HOST", host, "FROM", from).Replace(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard, annotations: {cert-manager.io/inject-ca-from: FROM}}
webhooks:
- name: guard.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: guard, namespace: b}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [a, b, c]}]}
---
apiVersion: v1
kind: Service
metadata: {name: guard}
spec: {selector: {app: b}, ports: [{port: 443, targetPort: 8443}]}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: house}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving}
spec: {secretName: tls, dnsNames: [HOST], issuerRef: {kind: Issuer, name: house}}
`))
	}
}

// replacedClaim is a claim of the pods of b with a label, which Argo CD replaces.
func replacedClaim(label string) func(*tinyRecipe) {
	return earlyClaim("argocd.argoproj.io/sync-options: Replace=true}, labels: {of: '" + label + "'")
}
