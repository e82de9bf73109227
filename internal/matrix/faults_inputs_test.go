package matrix

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// inputFaults are of inputs that people meet and nobody had tried: volumes that no kubelet mounts, objects
// that are there only since a deployer is fast, and files that deployers do not read alike.
func inputFaults() []fault {
	const at = beforeBudget
	const main = `containers: [{name: main, image: "example.com/web:1"}]`
	pods := func(pod, container string) func(*tinyRecipe) {
		return func(r *tinyRecipe) {
			r.part("b").edit(main, pod+"\n      "+`containers: [{name: main, image: "example.com/web:1"`+container+"}]")
		}
	}
	policy := "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: early}\nspec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}, validations: [{expression: '!has(object.data) || !has(object.data.bad)', message: no bad}]}\n" +
		"---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: early}\nspec: {policyName: early, validationActions: [Deny]}\n"
	return []fault{
		{
			id: "F360", what: "what a kubelet never mounts: a volume of a type that Kubernetes no longer has (gitRepo, cephfs), huge pages that no container requests, an image volume whose name is none, anything inside of /proc; a host's name that is too long (setHostnameAsFQDN)", verdict: "exit 1 with the volume and the template's line; a warning for imagePullPolicy: Never and for a capability that does not exist",
			seeds: []seed{
				{nightly: families, recipe: pods("volumes: [{name: src, gitRepo: {repository: 'https://example.com/a.git'}}]", ", volumeMounts: [{name: src, mountPath: /src}]"), want: red(reason.WorkloadFailed, "Deployment b/b (b): has volume src of type gitRepo, which Kubernetes no longer mounts").in(at)},
				{name: "huge pages", nightly: []string{bundle.Helm}, recipe: pods("volumes: [{name: shm, emptyDir: {medium: HugePages-2Mi}}]", ", volumeMounts: [{name: shm, mountPath: /shm}]"), want: red(reason.WorkloadFailed, "Deployment b/b (b): has volume shm of medium HugePages-2Mi, and no container requests hugepages-2Mi").in(at)},
				{name: "pulled never", nightly: []string{bundle.Helm}, recipe: pods("terminationGracePeriodSeconds: 5", ", imagePullPolicy: Never"), want: outcomeWanted{check: warning("Deployment b/b (b): container main has imagePullPolicy: Never")}},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F361", what: "a policy of the recipe that denies what comes after it, and that a fast deployer has created before the API server enforced it", verdict: "exit 51 in every lane: the object, and what denies it",
			seeds: []seed{
				{nightly: families, recipe: func(r *tinyRecipe) {
					r.part("a").add("early.yaml", policy)
					r.part("b").add("bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: {bad: x}\n")
				}, want: red(reason.DeployFailed, "ValidatingAdmissionPolicy 'early' with binding 'early' denied request: no bad").in(at)},
			},
			tests: []string{"internal/matrix/intact TestRefusedCreated"},
		},
		{
			id: "F362", what: "an object in a chart's crds/ that is no definition, of which Flux applies nothing", verdict: "exit 51 in Flux before anything is deployed; passes in Argo CD; exit 51 in helm where it needs the release's namespace",
			seeds: []seed{
				{nightly: []string{bundle.FluxOCI}, recipe: configInCRDs, want: red(reason.DeployFailed, "ConfigMap b/early (b): is in the chart's crds/, of which Flux applies CustomResourceDefinitions alone").in(at)},
				{name: "in Argo CD", nightly: []string{bundle.ArgoCDOCI}, recipe: configInCRDs},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F363", what: "an alias of what another item of a List has; an object with a uid, as it was read from a cluster; a rule of a Role for an API group that is written with a version; a container that takes a request which its claim does not have", verdict: "a warning with the line in every lane, and Flux's own words where it rejects the chart", tests: []string{"internal/bundle/rendering TestDoubtful_Aliases", "internal/matrix/checks TestCases"},
		},
		{
			id: "F364", what: "a Service with an address (clusterIP) of another cluster's range, or with two kinds of addresses (RequireDualStack)", verdict: "exit 51, saying that the range is the cluster's own, and what every cluster takes", tests: []string{"internal/matrix/why TestLocate_Addresses"},
		},
		{
			id: "F365", what: "a policy that denies what kubelets report of their nodes (status, leases): Kubernetes takes all of them for dead within a minute", verdict: "exit 51 in every lane, with the policy",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("c").manifest += "---\n" + strings.NewReplacer("apiGroups: ['']", "apiGroups: [coordination.k8s.io]", "CREATE", "UPDATE", "configmaps", "leases", "'!has(object.data) || !has(object.data.bad)'", "object.metadata.namespace != 'kube-node-lease'", "no bad", "no leases").Replace(policy)
			}, want: red(reason.DeployFailed, "the API server would reject what its kubelet reports next, without which Kubernetes takes it for dead", "denied request: no leases")}},
			tests: []string{"internal/matrix/intact TestRefusedStatus"},
		},
		{
			id: "F367", what: "a ResourceQuota that allows fewer objects than come with it, which Helm creates before the quota is counted", verdict: "exit 51 in every lane, with the numbers and the field",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").manifest += "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {count/configmaps: 2}}\n" +
					"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n"
			}, want: red(reason.DeployFailed, "ResourceQuota b/few (b): allows 2 count/configmaps, and with it and after it 3 are delivered to b: kube-root-ca.crt, one, two")}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F366", what: "a values schema whose definitions each refer twice to the next one, which the harness itself followed in each of 2ⁿ ways to see whether it names a value", verdict: "each reference is followed once; the sandbox ends Helm's own validation after two minutes", tests: []string{"internal/bundle TestInSchema_References"},
		},
	}
}

// configInCRDs adds a ConfigMap to a chart's crds/.
func configInCRDs(r *tinyRecipe) {
	r.part("b").crds = map[string]string{"early.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: early}\n"}
}
