package network

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

const unreached = "no request reaches it"

var routeWithoutGateway = judge.Check{
	ID: "MX254", Name: "route-without-gateway", Needs: judge.Rendered,
	Title: "A route of the Gateway API names a Gateway that the recipe installs",
	Why:   "A route gets requests from the listeners of the Gateways in its spec.parentRefs, and from nowhere else (https://gateway-api.sigs.k8s.io/api-types/httproute/#attaching-to-gateways).",
	Fix:   "Name the Gateway, with its namespace if that is another.",
	Says:  "is for Gateway %s, which the recipe does not install", Then: "unless the cluster has it, " + unreached,
	Others: map[string]judge.Message{"none": {Says: "names no Gateway (spec.parentRefs)", Then: unreached}},
	Run: func(s *judge.Scope) {
		for _, o := range routes(s) {
			if len(listOfMaps(o.Object.Object, "spec", "parentRefs")) == 0 {
				s.ReportAs("none", o, "spec.parentRefs").SetBy("parentRefs")
			}
			seen := map[string]bool{}
			gateways(o, func(i int, _ map[string]any, namespace, name string) {
				full := infra.NamespacedName(namespace, name)
				if s.Find(judge.KindsOf(gatewayGroup, "Gateway")[0], namespace, name) == nil && !seen[full] {
					s.Report(o, fmt.Sprintf("spec.parentRefs[%d].name", i), full).Missing(result.Ref{Group: gatewayGroup, Kind: "Gateway", Namespace: namespace, Name: name})
				}
				seen[full] = true
			})
		}
	},
}
