package matrix

import (
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// leftFaults are what no delivery can end well with, and what an Argo CD as it is installed leaves out.
func leftFaults() []fault {
	const at = time.Minute // from the start of the cell: before anything is deployed
	const slice = "apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {ports: [{name: pg, port: 5432}]}\n---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: db-1, labels: {kubernetes.io/service-name: db}}\naddressType: IPv4\nports: [{name: pg, port: 5432, protocol: TCP}]\nendpoints: [{addresses: [10.1.2.3]}]\n"
	brings := func(text string) func(*tinyRecipe) {
		return func(r *tinyRecipe) { r.part("b").add("more.yaml", text) }
	}
	return []fault{
		{
			id: "F204", what: "more replicas than all nodes that admit the pods have room for, up to 2,000,000,000", verdict: "exit 1 before anything is deployed, with both numbers and the template's line; no budget grows by pods that cannot be",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) { r.part("b").edit("replicas: 1", "replicas: 2000000000") }, want: red(reason.SchedulingFailed, "Deployment b/b (b): wants 2000000000 pods, and there is room for").and("b/templates/web.yaml:").in(at)}},
			tests: []string{"internal/matrix/refs/room TestFind", "internal/matrix/refs/room TestPods"},
		},
		{
			id: "F205", what: "an object of a kind that Argo CD excludes (EndpointSlice, Endpoints, Lease, CertificateSigningRequest, …), so that it never applies it", verdict: "exit 51 in Argo CD's lanes before anything is deployed, with the template's line; passes with a note elsewhere, also where the object is what a Service without a selector leads to",
			seeds: []seed{
				{nightly: []string{bundle.ArgoCDOCI}, recipe: brings(slice), want: red(reason.DeployFailed, "EndpointSlice b/db-1 (b): is of a kind that Argo CD excludes by default (resource.exclusions in its settings)").and("b/templates/more.yaml:").in(at)},
				{name: "in other lanes", nightly: []string{bundle.Helm, bundle.FluxOCI}, recipe: brings(slice), want: outcomeWanted{check: note("EndpointSlice b/db-1 (b) is of a kind that Argo CD excludes by default")}},
			},
			tests: []string{"internal/bundle/excluded TestOf", "internal/bundle/excluded TestSetting_Upstream", "internal/matrix/refs/leftout TestFind"},
		},
	}
}
