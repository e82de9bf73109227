package operator

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var authority = judge.Check{
	ID: "MX614", Name: "issuer-without-authority", Needs: judge.Rendered, Kinds: judge.KindsOf(certManager, "Issuer", "ClusterIssuer"), Gives: reason.DeployFailed,
	Title: "The Secret of an issuer that signs by itself exists",
	Why:   "An issuer of type ca signs with the certificate and the key of a Secret, and is not ready without it (https://cert-manager.io/docs/configuration/ca/).",
	Fix:   "Add the Secret, or a Certificate with isCA: true that makes it.",
	Says:  "signs with Secret %s (spec.ca.secretName), which nothing in the recipe makes", Then: "it is never ready, and cert-manager makes no Secret with it",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(certManager, "Issuer", "ClusterIssuer")...) {
			if name := field(o, "ca", "secretName"); lacksSecret(s, o, name) {
				s.Report(o, "spec.ca.secretName", name)
			}
		}
	},
}
