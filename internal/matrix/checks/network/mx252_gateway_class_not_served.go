package network

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var gatewayClassNotServed = judge.Check{
	ID: "MX252", Name: "gateway-class-not-served", Needs: judge.Rendered, Kinds: judge.KindsOf(gatewayGroup, "GatewayClass"),
	Title: "The recipe runs the controller of a GatewayClass that it installs",
	Why: "A controller serves the classes with its name in spec.controllerName (https://gateway-api.sigs.k8s.io/api-types/gatewayclass/). " +
		"Here no workload's name, image or arguments have a word of that name.",
	Fix:  "Install the controller, or leave the class to the cluster.",
	Says: "is served by %s (spec.controllerName), which nothing in the recipe seems to run", Then: "unless the cluster has that controller, no Gateway of the class gets an address",
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf(gatewayGroup, "GatewayClass")...) {
			if controller := text(o.Object.Object, "spec", "controllerName"); controller != "" && !seemsToRun(s, words(controller)) {
				s.Report(o, "spec.controllerName", controller)
			}
		}
	},
}
