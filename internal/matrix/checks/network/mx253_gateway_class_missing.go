package network

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var gatewayClassMissing = judge.Check{
	ID: "MX253", Name: "gateway-class-missing", Needs: judge.Rendered, Kinds: judge.KindsOf(gatewayGroup, "Gateway"),
	Title: "The recipe installs the class of a Gateway, or the program of that name, which makes it",
	Why:   "A Gateway gets an address from the controller of its class, and from none without one (https://gateway-api.sigs.k8s.io/api-types/gateway/).",
	Fix:   "Install the GatewayClass, or its controller.",
	Says:  "names GatewayClass %s, which the recipe does not install", Then: "unless the cluster provides it, no controller serves it",
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf(gatewayGroup, "Gateway")...) {
			class := text(o.Object.Object, "spec", "gatewayClassName")
			if class != "" && !namedIn(s, "GatewayClass", class) && !seemsToRun(s, words(class)) {
				s.Report(o, "spec.gatewayClassName", class).Missing(result.Ref{Group: gatewayGroup, Kind: "GatewayClass", Name: class})
			}
		}
	},
}

// namedIn reports whether the bundle has an object of the Gateway API of that kind and name.
func namedIn(s *judge.Scope, kind, name string) bool {
	for _, o := range s.OfKind(judge.KindsOf(gatewayGroup, kind)...) {
		if o.Object.GetName() == name {
			return true
		}
	}
	return false
}
