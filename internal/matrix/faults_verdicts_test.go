package matrix

import (
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
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
				{name: "unknown", nightly: families, recipe: mounts("envFrom: [{configMapRef: {name: settings}}]", "$(NOPE)"), want: red(reason.WorkloadFailed, "Deployment b/b (b): container main mounts /v at $(NOPE) of volume v (subPathExpr), and has no variable NOPE").in(time.Minute)},
				{name: "two dots", nightly: families, recipe: mounts("envFrom: [{configMapRef: {name: settings}}]", "$(DIR)"), want: red(reason.WorkloadFailed, "which is ../x, and a path of a volume may not contain '..'").in(time.Minute)},
			},
			tests: []string{"internal/matrix/refs/kubelet TestPaths", "internal/matrix/refs TestSubPathExpr"},
		},
	}
}
