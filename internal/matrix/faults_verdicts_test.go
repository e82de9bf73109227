package matrix

import (
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// publishedDevices is a chart's own ResourceSlice, and a claim that the scheduler would satisfy with it.
const publishedDevices = `apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: fake}
spec: {driver: fpga.example.com, allNodes: true, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: d0}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: fpga}
spec: {selectors: [{cel: {expression: "device.driver == 'fpga.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: fpga}}]}}
`

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
				{name: "unknown", nightly: families, recipe: mounts("envFrom: [{configMapRef: {name: settings}}]", "$(NOPE)"), want: red(reason.WorkloadFailed, "Deployment b/b (b): container main mounts /v at $(NOPE) of volume v (subPathExpr), and has no variable NOPE").in(time.Minute)},
				{name: "two dots", nightly: families, recipe: mounts("envFrom: [{configMapRef: {name: settings}}]", "$(DIR)"), want: red(reason.WorkloadFailed, "which is ../x, and a path of a volume may not contain '..'").in(time.Minute)},
			},
			tests: []string{"internal/matrix/refs/kubelet TestPaths", "internal/matrix/refs TestSubPathExpr"},
		},
		{
			id: "F401", what: "an object that only an agent of a node may publish, in a chart: a ResourceSlice of a driver that does not run, a CSIDriver without a plugin on the nodes, a CSINode, a NodeFeature, a RuntimeClass whose handler no node has", verdict: "exit 1 where a claim or a volume is of the driver; a warning where none is; a note for a handler",
			seeds: []seed{{name: "devices", nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").edit("      containers:", "      resourceClaims: [{name: c, resourceClaimName: one}]\n      containers:")
				r.part("b").edit(`image: "example.com/web:1"`, `image: "example.com/web:1", resources: {claims: [{name: c}]}`)
				r.part("b").add("devices.yaml", publishedDevices)
			}, want: red(reason.SchedulingFailed, "ResourceSlice fake (b): lists devices of driver fpga.example.com, which only the driver's plugin on each node may publish").in(time.Minute)}},
			tests: []string{"internal/matrix/refs TestOfAgents"},
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
			}, want: red(reason.WorkloadFailed, "Deployment b/b (b): takes its environment from Secret b/made, which only Job b/make of the same release makes").in(time.Minute)}},
			tests: []string{"internal/matrix/refs TestDeadlocks"},
		},
	}
}
