package matrix

import (
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// kubeletFaults are what a stranger tried: pods that only a real kubelet refuses, nodes that a cloud
// does not have, and files that are not what they look like.
func kubeletFaults() []fault {
	const image = `image: "example.com/web:1"`
	edited := func(from, to string) func(*tinyRecipe) {
		return func(r *tinyRecipe) { r.part("b").edit(from, to) }
	}
	return []fault{
		{
			id: "F190", what: "recipes with the files of a Git repository among them (HEAD, config, objects, refs), whose config names programs", verdict: "git never takes them for the repository of the recipes, so that nothing is run",
			tests: []string{"internal/matrix/discover TestOpenRepo_RepositoryAmongFiles"},
		},
		{
			id: "F191", what: "what a kubelet refuses by the pod template alone: an image's name that is none, a probe of a port that the container does not name, root where runAsNonRoot forbids it, a subPathExpr without its variable",
			verdict: "exit 1, with the container and the template's line; a livenessProbe, which then only never runs, is a warning",
			seeds: []seed{
				{name: "image", nightly: families, recipe: edited(image, `image: "example.com/web:{{ .Values.tag }}"`), want: red(reason.WorkloadFailed, `Deployment b/b (b): container main has the image "example.com/web:", which is no name of an image`).and("b/templates/web.yaml:").in(beforeBudget)},
				{name: "probe", nightly: families, recipe: edited(image, image+", readinessProbe: {httpGet: {port: http}}"), want: red(reason.WorkloadFailed, "Deployment b/b (b): the readinessProbe of container main asks port http").in(beforeBudget)},
				{name: "never probed", nightly: []string{bundle.Helm}, recipe: edited(image, image+", livenessProbe: {httpGet: {port: http}}"), want: outcomeWanted{check: warning("Deployment b/b (b): the livenessProbe of container main asks port http")}},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F192", what: "pods for nodes of the control plane, which a managed service keeps to itself", verdict: "exit 1: no node of AKS, EKS, GKE and OKE has their label",
			seeds: []seed{{nightly: families, recipe: edited("      containers:", "      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]}]}}}\n      containers:"),
				want: red(reason.SchedulingFailed, "Deployment b/b (b): 0/6 nodes are available").and("node affinity node-role.kubernetes.io/control-plane Exists (no such label)").in(beforeBudget)}},
			tests: []string{"internal/infra/simulate TestNodesOfAProfile"},
		},
	}
}
