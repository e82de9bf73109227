package matrix

import (
	_ "embed"
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// publishedDevices is a chart's own ResourceSlice, and a claim that the scheduler would satisfy with it.
//
//go:embed testdata/objects/published_devices.yaml
var publishedDevices string

const (
	closedToOutsiders = `apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {type: NodePort, selector: {app: b}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {}}]}]}
`
	takenName = `apiVersion: v1
kind: Pod
metadata: {name: db-0}
spec: {tolerations: [{operator: Exists}], containers: [{name: main, image: "example.com/debug:1"}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {tolerations: [{operator: Exists}], containers: [{name: main, image: "example.com/db:1"}]}}}
`
)

// verdictFaults are wrong verdicts of rules that stood where a program decides.
func verdictFaults() []fault {
	mounts := func(env, expr string) func(*tinyRecipe) {
		return func(r *tinyRecipe) {
			r.part("b").edit(`image: "example.com/web:1"`, `image: "example.com/web:1", `+env+`, volumeMounts: [{name: v, mountPath: /v, subPathExpr: `+expr+`}]`)
			r.part("b").edit("      containers:", "      volumes: [{name: v, emptyDir: {}}]\n      containers:")
			r.part("b").add("settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {DIR: ../x}\n")
		}
	}
	return []fault{
		{
			id: "F400", what: "a subPathExpr with a variable that envFrom does not bring, that is empty, or whose value is an absolute path or has `..`: a rule of ours took any envFrom for the variable", verdict: "exit 1 before anything is deployed, with the container and the value; passes where something may fill in the ConfigMap at run time",
			seeds: []seed{
				{name: "unknown", nightly: families, recipe: mounts("envFrom: [{configMapRef: {name: settings}}]", "$(NOPE)"), want: red(reason.WorkloadFailed, "Deployment b/b (b): container main mounts /v at $(NOPE) of volume v (subPathExpr), and has no variable NOPE").in(beforeBudget)},
				{name: "two dots", nightly: families, recipe: mounts("envFrom: [{configMapRef: {name: settings}}]", "$(DIR)"), want: red(reason.WorkloadFailed, "which is ../x, and a path of a volume may not contain '..'").in(beforeBudget)},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F401", what: "an object that only an agent of a node may publish, in a chart: a ResourceSlice of a driver that does not run, a CSIDriver without a plugin on the nodes, a CSINode, a NodeFeature, a RuntimeClass whose handler no node has", verdict: "exit 1 where a claim or a volume is of the driver; a warning where none is; a note for a handler",
			seeds: []seed{{name: "devices", nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").edit("      containers:", "      resourceClaims: [{name: c, resourceClaimName: one}]\n      containers:")
				r.part("b").edit(`image: "example.com/web:1"`, `image: "example.com/web:1", resources: {claims: [{name: c}]}`)
				r.part("b").add("devices.yaml", publishedDevices)
			}, want: red(reason.SchedulingFailed, "ResourceSlice fake (b): lists devices of driver fpga.example.com, which only the driver's plugin on each node may publish").in(beforeBudget)}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F402", what: "a Secret that only a hook after the installation, a later sync wave or a later release makes at run time, or fills: Argo CD and Flux wait for the pods that need it", verdict: "exit 1 before anything is deployed in the lanes that wait, with both objects; passes, not verified, where one of its makers is in time",
			seeds: []seed{{nightly: families[1:], recipe: func(r *tinyRecipe) {
				r.part("b").edit(`image: "example.com/web:1"`, `image: "example.com/web:1", envFrom: [{secretRef: {name: made}}]`)
				r.part("b").add("job.yaml", `apiVersion: batch/v1
kind: Job
metadata: {name: make, annotations: {helm.sh/hook: post-install}}
spec: {template: {spec: {restartPolicy: Never, tolerations: [{operator: Exists}], containers: [{name: main, image: "example.com/make:1", args: [--secret=made]}]}}}
`)
			}, want: red(reason.WorkloadFailed, "Deployment b/b (b): takes its environment from Secret b/made, which only Job b/make of the same release makes").in(beforeBudget)}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F403", what: "a NetworkPolicy whose rules are selectors of pods or namespaces, for pods that the API server calls: a webhook that fails closed, an APIService, a conversion; or that a LoadBalancer or NodePort leads to", verdict: "a warning that names both",
			seeds: []seed{{nightly: []string{bundle.Helm}, recipe: func(r *tinyRecipe) { r.part("b").add("closed.yaml", closedToOutsiders) }, want: outcomeWanted{check: warning("NetworkPolicy b/closed (b): lets only pods reach those of Deployment b/b, which serve Service b/outside (NodePort)")}}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F404", what: "a pod that has the name of one that a StatefulSet has to make, of which its controller writes no event; a request that a LimitRange fills in and no node has; a volume for nodes that there are none of", verdict: "exit 1 at once, with the pod, the LimitRange or the volume",
			seeds: []seed{
				{name: "name", nightly: families, recipe: func(r *tinyRecipe) { r.part("b").add("set.yaml", takenName) }, want: red(reason.WorkloadFailed, "StatefulSet b/db (b): pod b/db-0 has the name of its pod 0 and is none of its own").in(beforeBudget)},
				{name: "default", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("range.yaml", "apiVersion: v1\nkind: LimitRange\nmetadata: {name: defaults}\nspec: {limits: [{type: Container, default: {cpu: \"9000\"}, defaultRequest: {cpu: \"9000\"}}]}\n")
				}, want: red(reason.SchedulingFailed, "Deployment b/b (b)").and("LimitRange b/defaults fills in for container main").in(beforeBudget)},
			},
			tests: []string{"internal/observe TestTakenName", "internal/matrix/why TestExplain_LimitRange", "internal/matrix/checks TestCases"},
		},
		{
			id: "F405", what: "two releases of one name in one namespace, which are one to Helm; a HelmRelease that depends on a Kustomization, which the harness had made a HelmRelease of", verdict: "exit 51 before anything is deployed, with both; exit 52 with the line",
			tests: []string{"internal/matrix/checks TestCases", "internal/intake/app TestFlux_Refused"},
		},
		{
			id: "F406", what: "a version in a bundle's script that only a run can tell, `\"$(cmd)\"` or a variable that the script does not set, taken for no version; other programs in it than helm and kubectl, e.g. curl into a shell", verdict: "exit 52 with the line and the word; each such program is a warning",
			tests: []string{"internal/intake TestInstallScript_Besides"},
		},
	}
}
