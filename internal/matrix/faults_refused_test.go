package matrix

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// refusedFaults are what a real cluster refuses or never finishes, and a simulated one passed.
func refusedFaults() []fault {
	const at = beforeBudget // from the start of the cell: before anything is deployed, or after its gate
	return []fault{
		{
			id: "F170", what: "a quota, a limit or a pod security level that comes after the pods that it does not allow", verdict: "exit 1 in every lane: no pod could be created again; a quota that is only used up passes",
			seeds: []seed{
				{nightly: families, recipe: later("ResourceQuota", `{hard: {pods: "0"}}`), want: red(reason.WorkloadFailed, "Deployment a/a (a): the API server ", "exceeded quota: late").and("ResourceQuota a/late (c) denies it, set in ", "components/c/manifests/web.yaml:16")},
				{name: "a resource without a limit", nightly: families, recipe: later("ResourceQuota", `{hard: {limits.memory: 100Gi}}`), want: red(reason.WorkloadFailed, "Deployment a/a (a): the API server ", "failed quota: late: must specify limits.memory")},
				{name: "a LimitRange", nightly: families, recipe: later("LimitRange", `{limits: [{type: Pod, min: {cpu: "1"}}]}`), want: red(reason.WorkloadFailed, "Deployment a/a (a): the API server ", "minimum cpu usage per Pod")},
				{name: "used up", nightly: families, recipe: later("ResourceQuota", `{hard: {pods: "1"}}`)},
			},
			tests: []string{"internal/matrix/intact TestDenied"},
		},
		{
			id: "F171", what: "a ServiceAccount of a hook that is deleted once it has succeeded, which an ordinary workload runs as", verdict: "exit 1 before anything is deployed, where hooks are deleted",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("early.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: early, annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}}\n")
				r.part("b").edit("      containers:", "      serviceAccountName: early\n      containers:")
			}, want: red(reason.WorkloadFailed, "Deployment b/b (b): runs as ServiceAccount b/early, a hook that is deleted once it has succeeded").in(at)}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F172", what: "a pod for a node by its name, a variable from a container that it does not have, a disk that pods on two nodes share", verdict: "exit 1: no scheduler and no simulated kubelet looks at it",
			seeds: []seed{
				{nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").edit("      containers:", "      nodeName: system-0\n      containers:")
				}, want: red(reason.SchedulingFailed, "Deployment b/b (b): is for the node system-0 by name (spec.nodeName)").in(at)},
				{name: "no such container", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").edit(`image: "example.com/web:1"`, `image: "example.com/web:1", env: [{name: CPU, valueFrom: {resourceFieldRef: {containerName: web, resource: limits.cpu}}}]`)
				}, want: red(reason.WorkloadFailed, "Deployment b/b (b): takes CPU from limits.cpu of container web (resourceFieldRef), and it has no such container").in(at)},
				{name: "a disk", nightly: families, recipe: sharedDisk, want: red(reason.WorkloadFailed, "Deployment b/b (b): shares PersistentVolumeClaim b/data, which is ReadWriteOnce, among pods on 2 nodes")},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F173", what: "a CustomResourceDefinition whose names another one has: stored, and never served", verdict: "exit 51 in every lane, with the API server's condition",
			seeds: []seed{
				{nightly: []string{bundle.Helm, bundle.ArgoCDOCI}, recipe: sameNames, want: red(reason.DeployFailed, "the API server does not serve it: ", "already in use")},
				{name: "which Flux waits for", nightly: []string{bundle.FluxOCI}, recipe: sameNames, want: red(reason.DeployFailed, "example.com")},
			},
			tests: []string{"internal/matrix/intact TestUnaccepted"},
		},
		{id: "F174", what: "a chart that Helm's CLI and Argo CD do not install, and Helm's library does: a library, a dependency that is not in charts/", verdict: "exit 52 before there is a cluster, in every lane", tests: []string{"internal/charts/render TestRelease_NotInstallable"}},
		{id: "F179", what: "a Helm hook that is misspelt: Helm leaves the object out, and says so only in a log", verdict: "exit 52 before there is a cluster, in every lane, with the template's line", tests: []string{"internal/bundle/rendering TestRelease_UnknownHook"}},
		{id: "F200", what: "a chart or a bundle with .argocd-source.yaml, by which Argo CD changes the source of an Application past every check of it, e.g. to a plugin", verdict: "exit 52 before there is a cluster: a chart in every lane, a bundle in Argo CD's", tests: []string{"internal/charts/render TestRelease_NotInstallable", "internal/intake TestForms_SourceOverrides"}},
		{id: "F175", what: "replicas and minReadySeconds as large as a number can be, which lengthen the budgets", verdict: "by an hour at most: the run ends", tests: []string{"internal/matrix/lane TestBudgetsFor"}},
		{id: "F176", what: "two autoscalers for one workload, two disruption budgets for one pod, a Service that a StatefulSet or an Ingress names and nothing makes, a binding for an account of another namespace, an unsafe sysctl, a webhook for the pods that serve it", verdict: "a warning with file and line", tests: []string{"internal/matrix/checks TestCases"}},
		{id: "F177", what: "a Secret for the token of a ServiceAccount that nothing makes: Kubernetes deletes it", verdict: "exit 51 before anything is deployed, in every lane", tests: []string{"internal/matrix/checks TestCases"}},
		{
			id: "F178", what: "what a chart tells Argo CD alone to delete once it is synced, or to leave out", verdict: "passes: it may be missing there",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("once.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: once, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: HookSucceeded}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: skipped, annotations: {argocd.argoproj.io/hook: Skip}}\n")
			}}},
			tests: []string{"internal/bundle/rendering TestGoneInArgoCD"},
		},
	}
}

// later makes component c, which comes after a, set something for a's namespace.
func later(kind, spec string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("c").manifest += "---\napiVersion: v1\nkind: " + kind + "\nmetadata: {name: late, namespace: a}\nspec: " + spec + "\n"
	}
}

// sharedDisk gives two pods on two nodes one claim.
func sharedDisk(r *tinyRecipe) {
	r.part("b").add("claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n")
	r.part("b").edit("replicas: 1", "replicas: 2")
	r.part("b").edit("      containers:", "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: b}}}]}}\n      volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n      containers:")
}

// sameNames has two definitions of one kind.
func sameNames(r *tinyRecipe) {
	const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %.example.com}\nspec: {group: example.com, scope: Namespaced, names: {kind: Gizmo, listKind: GizmoList, plural: %, singular: gizmo}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"
	r.part("b").add("crds.yaml", strings.ReplaceAll(definition, "%", "gizmos")+"---\n"+strings.ReplaceAll(definition, "%", "gizmoz"))
}
