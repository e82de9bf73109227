package operator

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var noIssuer = judge.Check{
	ID: "MX612", Name: "certificate-without-issuer", Needs: judge.Rendered, Kinds: certificates, Gives: reason.DeployFailed,
	Title: "The issuer of a Certificate exists",
	Why: "cert-manager makes the Secret of a Certificate with its issuer, an Issuer of its namespace or a ClusterIssuer, and waits while there is none " +
		"(https://cert-manager.io/docs/concepts/issuer/). Pods that mount the Secret wait, too.",
	Fix:  "Add the issuer, or correct spec.issuerRef.",
	Says: "is to be signed by %s, which does not exist, and nothing in the recipe makes it", Then: "cert-manager never makes Secret %[2]s",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(certificates...) {
			if group := field(o, "issuerRef", "group"); group != "" && group != certManager {
				continue // an issuer of another program
			}
			if issuer := lacksIssuer(s, o, field(o, "issuerRef", "kind"), field(o, "issuerRef", "name")); issuer != "" {
				s.Report(o, "spec.issuerRef.name", issuer, certificateSecret(o)).OneCause(issuer)
			}
		}
	},
}
