package matrix

import (
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// ordinaryFaults came to light with charts of everyday, right and wrong ones, that nobody here had seen:
// volumes and autoscalers that only their controllers refuse, and rules that have no effect.
func ordinaryFaults() []fault {
	const (
		claim  = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {MORE, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
		image  = `image: "example.com/web:1"`
		scaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 3, scaleTargetRef: {apiVersion: VERSION, kind: KIND, name: b}}\n"
		policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p}\nspec: {podSelector: {matchLabels: {app: nobody}}}\n"
		byHand = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: by-hand, labels: {tier: gold}}\nspec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], storageClassName: manual, nfs: {server: 10.0.0.5, path: /x}}\n"
		at     = time.Minute
	)
	// with gives the pods of b a claim, which their container takes as it is told.
	with := func(more, as string) func(*tinyRecipe) {
		return func(r *tinyRecipe) {
			r.part("b").add("claim.yaml", strings.Replace(claim, "MORE", more, 1))
			r.part("b").edit(image, image+", "+as)
			r.part("b").edit("      containers:", "      volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n      containers:")
		}
	}
	scaling := func(version, kind string) func(*tinyRecipe) {
		return func(r *tinyRecipe) {
			r.part("b").add("hpa.yaml", strings.NewReplacer("VERSION", version, "KIND", kind).Replace(scaler))
		}
	}
	const mounted, handed = "volumeMounts: [{name: d, mountPath: /d}]", "volumeDevices: [{name: d, devicePath: /dev/d}]"
	return []fault{
		{
			id: "F218", what: "a volume in another form than its claim has: a block device in volumeMounts, a file system in volumeDevices", verdict: "exit 1: a kubelet starts none of the containers",
			seeds: []seed{
				{nightly: families, recipe: with("volumeMode: Block", mounted), want: red(reason.WorkloadFailed, "Deployment b/b (b): container main has volume d in volumeMounts, and the volumeMode of claim data is Block").and("b/templates/web.yaml:").in(at)},
				{name: "the other way round", nightly: []string{bundle.Helm}, recipe: with("volumeMode: Filesystem", handed), want: red(reason.WorkloadFailed, "container main has volume d in volumeDevices")},
				{name: "a device", nightly: []string{bundle.Helm}, recipe: with("volumeMode: Block", handed)},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F219", what: "a claim that chooses its volume by labels, which no volume of the recipe has: the simulated provisioner makes one, real ones refuse", verdict: "exit 1, with the labels; a claim that one of the recipe's volumes fits passes",
			seeds: []seed{
				{nightly: families, recipe: with("selector: {matchLabels: {tier: gold}}", mounted), want: red(reason.SchedulingFailed, "PersistentVolumeClaim b/data (b): claim data is for a volume with tier=gold (spec.selector)").and("b/templates/claim.yaml:").in(at)},
				{name: "one that fits", nightly: []string{bundle.Helm}, recipe: func(r *tinyRecipe) {
					with("storageClassName: manual, selector: {matchLabels: {tier: gold}}", mounted)(r)
					r.part("b").add("volume.yaml", byHand)
				}},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F220", what: "an autoscaler of a kind without a scale (DaemonSet), or by an API group that no longer has its target (extensions/v1beta1)", verdict: "exit 51, with what to write: it scales nothing",
			seeds: []seed{
				{nightly: families, recipe: scaling("extensions/v1beta1", "Deployment"), want: red(reason.DeployFailed, `HorizontalPodAutoscaler b/web (b): scales Deployment b/b as apiVersion "extensions/v1beta1"`).and("use apiVersion: apps/v1").in(at)},
				{name: "a DaemonSet", nightly: []string{bundle.Helm}, recipe: scaling("apps/v1", "DaemonSet"), want: red(reason.DeployFailed, "and a DaemonSet has no scale")},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F221", what: "a StorageClass that is only a name, which a claim and a volume of the recipe share", verdict: "passes: such a class need not exist",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				with("storageClassName: manual", mounted)(r)
				r.part("b").add("volume.yaml", byHand)
			}}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F137", what: "a CronJob for a day that none of its months has (31 February)", verdict: "a warning with file and line: it never creates a Job",
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F138", what: "a MutatingAdmissionPolicy that takes from pods or other objects what was rendered, and comes after them", verdict: "a warning with the field, its value and the policy: the next pod, or the next delivery, does not have it; exit 51 if the policy then fails",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").edit("\"example.com/web:1\"", "\"example.com/web:1\", env: [{name: A, value: kept}]")
				steersAway(`{patchType: JSONPatch, jsonPatch: {expression: 'has(object.spec.containers[0].env) ? [JSONPatch{op: "remove", path: "/spec/containers/0/env"}] : []'}}`)(r)
			}, want: outcomeWanted{check: warning("Deployment b/b (b): its next pod would have nothing at spec.containers[0].env")}}},
			tests: []string{"internal/matrix/intact TestStripped"},
		},
		{
			id: "F139", what: "a Service that is another name (ExternalName) for an address, for a Service that does not exist, or for itself", verdict: "a warning with file and line",
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F140", what: "pods that name a ResourceClaim which nothing makes: the scheduler does not try to place them, and reports nothing", verdict: "exit 1 within 20 s, with the claim and the line, and not once the budget is over",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").edit("containers: [{name: main, ", "resourceClaims: [{name: g, resourceClaimName: nope}]\n      containers: [{name: main, resources: {claims: [{name: g}]}, ")
			}, want: red(reason.SchedulingFailed, "Deployment b/b (b): no scheduler tries to place its pods until ResourceClaim b/nope exists").and("ResourceClaim b/nope does not exist").in(beforeBudget)}},
			tests: []string{"internal/observe TestWaitsForClaim"},
		},
		{
			id: "F141", what: "a claim for one pod alone (ReadWriteOncePod) that another pod has, or whose volumes are too small or another claim's; the overhead of a RuntimeClass; a StatefulSet's name that is too long for its pods' labels", verdict: "exit 1, with the pod, the volumes, the overhead, or what to do",
			tests: []string{"internal/matrix/why TestHolder", "internal/matrix/why TestUnfit", "internal/matrix/why TestExplain", "internal/observe TestRefusedWorkload_LongName"},
		},
		{
			id: "F158", what: "two workloads of one kind and namespace of which one selects the other's pods; a ClusterRole made of others (aggregationRule), of which the recipe has none", verdict: "a warning with file and line",
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F159", what: "a workload that runs on, and is a hook of Argo CD's own (PostSync, SyncFail)", verdict: "a warning with file and line in every lane: Argo CD builds it anew at each sync, or never creates it",
			seeds: []seed{{nightly: []string{bundle.ArgoCDOCI}, recipe: func(r *tinyRecipe) {
				r.part("b").edit("metadata:\n", "metadata:\n  annotations: {argocd.argoproj.io/hook: SyncFail}\n")
				r.part("b").add("second.yaml", strings.ReplaceAll(webTemplate, ".Release.Name", "printf \"second\""))
			}, want: outcomeWanted{check: warning("Deployment b/b (b): has argocd.argoproj.io/hook: SyncFail, and is an ordinary object to Helm and Flux")}}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F160", what: "an object in an apiVersion that Kubernetes has removed, e.g. policy/v1beta1 or autoscaling/v2beta2, or a kind that is gone", verdict: "exit 51 in every lane, also in Argo CD, which would try again until its deadline; with the version that is served today, and the line",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("old.yaml", "# old\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n")
			}, want: red(reason.DeployFailed, "PodDisruptionBudget").and("PodDisruptionBudget is served as policy/v1, and not as policy/v1beta1; edit: `apiVersion: policy/v1`").and("set in b/templates/old.yaml:2").in(at)}},
			tests: []string{"internal/matrix/why TestLocate_RemovedAPI", "internal/matrix/lane TestNeverComes", "internal/bundle/apis TestServedAs"},
		},
		{
			id: "F169", what: "a time zone that does not exist, in a CronJob", verdict: "exit 51 with `unknown time zone`, as in a real cluster, and not with the sandbox's words",
			seeds: []seed{{nightly: []string{bundle.Helm}, recipe: func(r *tinyRecipe) {
				r.part("b").add("cron.yaml", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {schedule: \"0 1 * * *\", timeZone: Mars/Phobos, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: \"example.com/web:1\"}]}}}}}\n")
			}, want: red(reason.DeployFailed, "unknown time zone Mars/Phobos").in(at)}},
			tests: []string{"internal/infra/host TestSandbox_TimeZone"},
		},
		{
			id: "F243", what: "an object in a namespace that a later component creates, where the deployer goes in order", verdict: "exit 51, with the object, what creates the namespace, and both lines; Argo CD tries again until it is there",
			seeds: []seed{{nightly: []string{bundle.Helm, bundle.FluxOCI}, recipe: func(r *tinyRecipe) {
				r.part("a").add("role.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: reader\n  namespace: tenants\nrules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]\n")
				r.part("b").add("ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: tenants}\n")
			}, want: red(reason.DeployFailed, `namespaces "tenants" not found`).and("namespace tenants is created by component b, in b/templates/ns.yaml:").and("set in a/templates/role.yaml:5").in(at)}},
			tests: []string{"internal/matrix/why TestLocate_Namespace"},
		},
		{
			id: "F246", what: "what every deployer takes and no cluster runs: a NetworkPolicy that closes the pods of a Service or of a ServiceAccount with roles, pods without the token of such an account, variables that stay text ($(NAME)), orders that are no numbers, finalizers that nobody removes, a subdomain of no Service, an Ingress of no class, two default StorageClasses, 83 minutes of minReadySeconds", verdict: "a warning with file and line",
			seeds: []seed{{nightly: []string{bundle.Helm, bundle.ArgoCDOCI}, recipe: func(r *tinyRecipe) {
				r.part("b").edit(image, image+", args: [--name=$(POD_NAME)]")
			}, want: outcomeWanted{check: warning("Deployment b/b (b): argument --name=$(POD_NAME) of container main has $(POD_NAME), a variable that the container does not have")}}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F247", what: "a Job that must end before a node can have started it (activeDeadlineSeconds of 1), a claim of a class whose provisioner nothing in the recipe is, a second default PriorityClass: green or red by chance, or by a stand-in", verdict: "exit 1; 51 for the PriorityClass",
			seeds: []seed{
				{name: "a Job", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {activeDeadlineSeconds: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: \"example.com/job:1\"}]}}}\n")
				}, want: red(reason.WorkloadFailed, "Job b/j (b): the Job failed: DeadlineExceeded").in(at)},
				{name: "a provisioner", nightly: families, recipe: func(r *tinyRecipe) {
					with("storageClassName: mine", mounted)(r)
					r.part("b").add("class.yaml", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: mine}\nprovisioner: csi.example.com\n")
				}, want: red(reason.SchedulingFailed, "PersistentVolumeClaim b/data (b): claim data is of StorageClass mine, and nothing in the recipe is its provisioner, csi.example.com").and("b/templates/claim.yaml:").in(at)},
				{name: "a priority", nightly: families, recipe: func(r *tinyRecipe) {
					for _, part := range []string{"a", "b"} {
						r.part(part).add("priority.yaml", "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: p-"+part+"}\nvalue: 1\nglobalDefault: true\n")
					}
				}, want: red(reason.DeployFailed, "PriorityClass p-a is already marked as default").and("b/templates/priority.yaml:").in(at)},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F222", what: "rules without an effect: a NetworkPolicy for no pod or for a port that none has, pods kept apart by a label that no node has, or spread by a selector that is not theirs; a metric of a container that is not there, an autoscaler of what has no replicas, or others than it allows; two Ingresses for one path; a pull Secret that only a ServiceAccount names; profiles that are files of the node", verdict: "a warning with file and line",
			seeds: []seed{{nightly: []string{bundle.Helm}, recipe: func(r *tinyRecipe) { r.part("b").add("policy.yaml", policy) }, want: outcomeWanted{check: warning("NetworkPolicy b/p (b): selects pods with app=nobody, and there are none")}}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F223", what: "a CronJob, a suspended Job or a workload without replicas whose pods a limit, a quota, a pod security level or a policy of the recipe denies", verdict: "exit 1: once its time comes, no pod of it is created",
			seeds: []seed{
				{nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("cron.yaml", "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\nspec: {limits: [{type: Container, max: {cpu: \"1\"}}]}\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {schedule: \"0 1 * * *\", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, tolerations: {{ toJson .Values.tolerations }}, containers: [{name: main, image: \"example.com/web:1\", resources: {limits: {cpu: \"4\"}}}]}}}}}\n")
				}, want: red(reason.WorkloadFailed, "CronJob b/c (b): the API server would reject its pods: maximum cpu usage per Container is 1, but limit is 4").and("LimitRange b/l (b) denies it")},
				{name: "a quota and no replicas", nightly: []string{bundle.Helm}, recipe: func(r *tinyRecipe) {
					r.part("b").edit("replicas: 1", "replicas: 0")
					r.part("b").add("quota.yaml", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {limits.memory: 1Gi}}\n")
				}, want: red(reason.WorkloadFailed, "Deployment b/b (b): the API server would reject its pods: failed quota: q: must specify limits.memory")},
			},
			tests: []string{"internal/matrix/intact TestIdle", "internal/matrix/intact TestReasonOf_FirstPod"},
		},
		{
			id: "F224", what: "a request above the limit that a LimitRange fills in, so that the API server calls the pod invalid and names no LimitRange", verdict: "exit 1, with the LimitRange and the line of the request", tests: []string{"internal/matrix TestTraceValues"},
		},
		{
			id: "F225", what: "a Service with clusterIP: \"\", which leaves the address to the API server, and an autoscaler of autoscaling/v1, whose status is read as annotations", verdict: "passes: neither is a difference between lanes, nor lost",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("more.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIP: \"\", selector: {app: b}, ports: [{port: 80}]}\n---\napiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: b}}\n")
			}}},
			tests: []string{"internal/matrix/compare TestNormalise"},
		},
	}
}
