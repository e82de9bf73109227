package matrix

import (
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// reportedFaults are those that users of other charts have reported in public.
func reportedFaults() []fault {
	argo, others := []string{bundle.ArgoCDOCI}, []string{bundle.Helm, bundle.FluxOCI}
	const waits = "gets a volume only once a pod uses it (volumeBindingMode: WaitForFirstConsumer), and Argo CD creates Deployment b/b, whose pods do, in a later sync wave or phase (b/templates/web.yaml)"
	return []fault{
		{
			id: "F280", what: "a claim in a sync wave before that of its pods, or as a hook, of a class that waits for a pod: Argo CD waits for the claim, and the claim for a pod", verdict: "exit 51 in Argo CD before anything is deployed, with the claim's line and what to do; passes elsewhere",
			seeds: []seed{
				{name: "wave", nightly: argo, recipe: earlyClaim(`argocd.argoproj.io/sync-wave: "-1"`), want: red(reason.DeployFailed, "PersistentVolumeClaim b/data (b): "+waits).in(time.Minute)},
				{name: "hook", nightly: argo, recipe: earlyClaim("helm.sh/hook: pre-install"), want: red(reason.DeployFailed, "PersistentVolumeClaim b/data (b): "+waits).in(time.Minute)},
				{name: "wave", nightly: others, recipe: earlyClaim(`argocd.argoproj.io/sync-wave: "-1"`)},
				{name: "one wave", nightly: argo, recipe: earlyClaim("a: b")},
			},
			tests: []string{"internal/matrix/refs TestNever"},
		},
		{
			id: "F281", what: "a CronJob, a suspended Job or a workload with 0 replicas whose RuntimeClass is for nodes that there are none of (scheduling.nodeSelector)", verdict: "exit 1: no node would admit its pods; for pods that there are, too, the RuntimeClass is named and not the template",
			seeds: []seed{
				{nightly: families, recipe: ofRuntimeClass("katacontainers.io/kata-runtime: 'true'"), want: red(reason.SchedulingFailed, "CronJob b/beat (b): no node would admit its pods").and("scheduling.nodeSelector of RuntimeClass kata, from which the API server adds it").in(time.Minute)},
				{name: "that there are", nightly: families, recipe: ofRuntimeClass("kubernetes.io/os: linux")},
			},
			tests: []string{"internal/matrix/refs TestTemplates", "internal/matrix/why TestAdmitsTemplate_RuntimeClass"},
		},
		{
			id: "F282", what: "a policy that cannot be evaluated at all, e.g. for parameters of a kind that no component defines, and comes after the pods", verdict: "exit 1 in every lane: no pod could be created again; the API server says it in other words than for a policy that denies",
			seeds: []seed{
				{nightly: families, recipe: withoutParameters("{apiVersion: rules.example.com/v1, kind: PodLimit}"), want: red(reason.WorkloadFailed, "the API server would reject its next pod: ValidatingAdmissionPolicy 'limits' denied request: failed to configure policy: failed to find resource referenced by paramKind").and("ValidatingAdmissionPolicy limits (b) denies it, set in b/templates/policy.yaml:2").in(time.Minute)},
				{name: "parameters that there are", nightly: families, recipe: withoutParameters("{apiVersion: v1, kind: ConfigMap}")},
			},
			tests: []string{"internal/matrix/intact TestDenied"},
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
