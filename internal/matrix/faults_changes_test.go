package matrix

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// refusal is a change of one object that the API server does not take.
type refusal struct {
	name string // of the component that has it
	text string // of the template; @ is 1 before and 2 after
	line string // what is said of it
}

func refusals() []refusal {
	const b = " cannot be changed; component "
	return []refusal{
		{name: "configmap", text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed}\nimmutable: true\ndata: {n: \"@\"}\n", line: "ConfigMap fixed: data" + b + "configmap, template configmap/templates/x.yaml:5"},
		{name: "secret", text: "apiVersion: v1\nkind: Secret\nmetadata: {name: typed}\ntype: example.com/t@\nstringData: {n: \"1\"}\n", line: "Secret typed: type" + b + "secret, template secret/templates/x.yaml:4"},
		{name: "binding", text: "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: bound}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: vie@}\nsubjects: [{kind: ServiceAccount, name: default, namespace: b}]\n", line: "RoleBinding bound: roleRef" + b + "binding, template binding/templates/x.yaml:4"},
		{name: "priority", text: "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 100@\n", line: "PriorityClass high: value" + b + "priority, template priority/templates/x.yaml:4"},
		{name: "storage", text: "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: ebs.csi.aws.com\nparameters: {type: gp@}\n", line: "StorageClass fast: parameters" + b + "storage, template storage/templates/x.yaml:5"},
		{name: "runtime", text: "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: gpu}\nhandler: nvidia@\n", line: "RuntimeClass gpu: handler" + b + "runtime, template runtime/templates/x.yaml:4"},
		{name: "ingressclass", text: "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: web}\nspec: {controller: example.com/c@}\n", line: "IngressClass web: spec.controller" + b + "ingressclass, template ingressclass/templates/x.yaml:4"},
		{name: "claimtemplate", text: "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: gpu}\nspec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, count: @}}]}}}\n---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu.example.com}\nspec: {}\n", line: "ResourceClaimTemplate gpu: spec.spec" + b + "claimtemplate, template claimtemplate/templates/x.yaml:4"},
		{name: "headless", text: "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: { {{- if eq \"@\" \"2\" }}clusterIP: None, {{ end }}selector: {app: b}, ports: [{port: 80}]}\n", line: "Service web: spec.clusterIP" + b + "headless, template headless/templates/x.yaml"},
		{name: "set", text: statefulSet("serviceName: set@\n  podManagementPolicy: {{ if eq \"@\" \"2\" }}Parallel{{ else }}OrderedReady{{ end }}"), line: "StatefulSet set: spec.podManagementPolicy" + b + "set, template set/templates/x.yaml:6; it changes spec.podManagementPolicy: \"OrderedReady\", then \"Parallel\"; it changes spec.serviceName: \"set1\", then \"set2\""},
	}
}

func statefulSet(fields string) string {
	return "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: set}\nspec:\n  " + fields + `
  selector: {matchLabels: {app: set}}
  template:
    metadata: {labels: {app: set}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: "example.com/set:1"}]
`
}

// with adds the component that has it.
func (f refusal) with(n string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.components = append(r.components, &tinyComponent{name: f.name, templates: map[string]string{"x.yaml": strings.ReplaceAll(f.text, "@", n)}})
	}
}

// changeFaults are second deliveries as people make them, one object each.
func changeFaults() []fault {
	var seeds []seed
	for _, f := range refusals() {
		seeds = append(seeds, seed{name: f.name, nightly: families, old: older(f.with("1")), recipe: f.with("2"), want: red(reason.UpgradeFailed, "the upgrade from old: ").and(f.line)})
	}
	const outside = `url: "https://hooks.example.com/b"`
	return []fault{
		{
			id: "F142", what: "an upgrade that changes what the API server does not let change: an immutable ConfigMap, a Secret's type, a roleRef, a PriorityClass, StorageClass, RuntimeClass or IngressClass, a ResourceClaimTemplate, a Service's address, what names a StatefulSet's pods", verdict: "exit 73 with the object, the field, both values, the template's line and what to do",
			seeds: seeds,
			tests: []string{"internal/matrix/daytwo TestFailed"},
		},
		{
			id: "F143", what: "an upgrade that changes what may change, but needs care: a claim that grows, a volume's or a probe's type, a variable's source, a port's name, labels of a Namespace, a webhook's policy, an Ingress's class, a DaemonSet's strategy", verdict: "passes in every lane",
			seeds: []seed{
				{nightly: families, old: older(careful("1")), recipe: careful("2"), want: outcomeWanted{check: endsAlike}},
			},
			tests: []string{"internal/matrix/compare TestNormalise"},
		},
		{
			id: "F144", what: "an object that left the recipe and is kept (Prune=false), so that Argo CD calls its Application OutOfSync for ever, beside one whose health is accepted as it is", verdict: "passes, and the difference lists the object as left behind",
			tests: []string{"internal/matrix/lane/argocd TestKeptResources", "internal/matrix/change TestNoDifference"},
		},
		{
			id: "F214", what: "a value of a simulated chart that its original takes as an empty text, which the template makes a null (KAI's admission.gpuPodRuntimeClassName, which July's recipes set)", verdict: "passes in Argo CD and Flux, which deliver a null, as in helm, where the API server drops it",
			tests: []string{"internal/charts TestSimulatedEmptyText"},
		},
		{
			id: "F215", what: "scheduling paths of a part of a chart that its values switch off; a Service that a simulated operator's StatefulSet names", verdict: "no warning: there is nothing to place, and the operator makes the Service",
			tests: []string{"internal/bundle TestOff", "internal/bundle TestShippedRecipes"},
		},
		{
			id: "F216", what: "the UID of a ComputeDomain in the template of its claims, which is another one in each cluster (July's recipes with Slurm on GB200)", verdict: "no difference between lanes, nor after an upgrade; one that a chart renders is compared",
			tests: []string{"internal/matrix/compare TestNormalise"},
		},
		{
			id: "F145", what: "a recipe that changes the tag or the registry of an image of a simulated chart, which its original has as a map", verdict: "passes: the image has a name, which is not the map as text",
			tests: []string{"internal/charts TestSimulatedImages"},
		},
		{
			id: "F146", what: "a StatefulSet that becomes OnDelete, and keeps what the API server filled in for rolling updates", verdict: "passes in every lane",
			seeds: []seed{
				{nightly: families, old: older(settled("RollingUpdate")), recipe: settled("OnDelete"), want: outcomeWanted{check: endsAlike}},
			},
		},
		{
			id: "F147", what: "a webhook whose failurePolicy changes", verdict: "passes, and the difference names the policy of before and after",
			seeds: []seed{
				{nightly: families, old: older(failing("Ignore", outside)), recipe: failing("Fail", outside), want: outcomeWanted{check: namesPolicy}},
			},
		},
	}
}

// settled has a StatefulSet of this updateStrategy.
func settled(strategy string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("set.yaml", statefulSet("serviceName: set\n  updateStrategy: {type: "+strategy+"}"))
	}
}

// failing has a webhook of this failurePolicy, and of these settings for its client.
func failing(policy, client string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("hook.yaml", strings.NewReplacer("POLICY", policy, "CLIENT", client).Replace(failingTemplate))
	}
}

//go:embed testdata/objects/failing_template.yaml
var failingTemplate string

// namesPolicy: the difference has the webhook's failurePolicy of before and after.
func namesPolicy(t *testing.T, r result.Result) {
	t.Helper()
	endsAlike(t, r)
	for _, one := range r.Change.Components {
		for _, changed := range one.Changed {
			for _, f := range changed.Fields {
				if changed.Name == "b-hook" && strings.Contains(f.Path, "failurePolicy") && f.From == `"Ignore"` && f.To == `"Fail"` {
					return
				}
			}
		}
	}
	t.Errorf("got the change %+v, want one that names the webhook's failurePolicy", r.Change.Components)
}

// careful has what may change from one version to the next, and must.
func careful(n string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		b := r.part("b")
		b.add("careful.yaml", strings.ReplaceAll(carefulTemplate, "@", n))
		of := map[string][2]string{
			"1": {"emptyDir: {}", "httpGet: {path: /, port: 80}"}, "2": {"configMap: {name: config}", "tcpSocket: {port: 80}"},
		}[n]
		source := map[string]string{"1": "value: one", "2": "valueFrom: {configMapKeyRef: {name: config, key: text}}"}[n]
		b.edit(`{name: main, image: "example.com/web:1"}]`, `{name: main, image: "example.com/web:`+n+`", readinessProbe: {`+of[1]+`}, env: [{name: TEXT, `+source+`}], ports: [{name: p`+n+`, containerPort: 80}], volumeMounts: [{name: v, mountPath: /v}, {name: data, mountPath: /data}]}]
      volumes: [{name: v, `+of[0]+`}, {name: data, persistentVolumeClaim: {claimName: grows}}]`)
	}
}

//go:embed testdata/objects/careful_template.yaml
var carefulTemplate string
