package network

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var gatewayCertificate = judge.Check{
	ID: "MX256", Name: "gateway-certificate-missing", Needs: judge.Rendered, Kinds: judge.KindsOf(gatewayGroup, "Gateway"),
	Title: "The recipe makes the Secrets with the certificates of a Gateway's listeners",
	Why: "A listener that ends TLS serves with the Secrets in its tls.certificateRefs (https://gateway-api.sigs.k8s.io/guides/tls/). " +
		"cert-manager makes them for a Gateway with its annotation (https://cert-manager.io/docs/usage/gateway/).",
	Fix:  "Make the Secret or a Certificate, or annotate the Gateway.",
	Says: "takes the certificate of listener %s from Secret %s, which the recipe does not make", Then: "unless something makes it in the cluster, the listener answers nothing",
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf(gatewayGroup, "Gateway")...) {
			if a := o.Object.GetAnnotations(); a["cert-manager.io/issuer"] != "" || a["cert-manager.io/cluster-issuer"] != "" {
				continue // cert-manager makes it
			}
			for i, l := range listOfMaps(o.Object.Object, "spec", "listeners") {
				for j, ref := range listOfMaps(l, "tls", "certificateRefs") {
					if kind := text(ref, "kind"); kind != "" && kind != "Secret" {
						continue
					}
					namespace, name := cmp.Or(text(ref, "namespace"), o.Object.GetNamespace()), text(ref, "name")
					if !makesSecret(s, namespace, name) {
						s.Report(o, fmt.Sprintf("spec.listeners[%d].tls.certificateRefs[%d].name", i, j), text(l, "name"), infra.NamespacedName(namespace, name)).
							Missing(result.Ref{Kind: "Secret", Namespace: namespace, Name: name})
					}
				}
			}
		}
	},
}

// makesSecret reports whether the bundle has a Secret, or a Certificate that is to be kept in it.
func makesSecret(s *judge.Scope, namespace, name string) bool {
	return slices.ContainsFunc(s.Expectation.Objects, func(b bundle.Object) bool {
		made := b.Object.GetKind() == "Secret" && b.Object.GetName() == name || b.Object.GetKind() == "Certificate" && text(b.Object.Object, "spec", "secretName") == name
		return made && b.Object.GetNamespace() == namespace
	})
}
