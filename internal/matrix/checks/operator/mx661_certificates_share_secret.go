package operator

import (
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var certificatesShareSecret = judge.Check{
	ID: "MX661", Name: "certificates-share-secret", Needs: judge.Rendered, Kinds: judge.KindsOf(certManager, "Certificate"), Gives: reason.DeployFailed,
	Title: "Each Certificate has a Secret of its own",
	Why: "cert-manager issues a Certificate anew if its Secret does not fit it. Two with one Secret are issued in turns, without end " +
		"(https://cert-manager.io/docs/usage/certificate/#avoid-sharing-secrets-between-certificates).",
	Fix:  "Give one of them another spec.secretName.",
	Says: "is to be kept in Secret %s/%s (spec.secretName), and so is %s (%s)", Then: "cert-manager never gets both ready: what it issues for one does not fit the other",
	Run: func(s *judge.Scope) {
		secrets := map[[2]string]*bundle.Object{}
		for _, o := range ofCertManager(s, "Certificate") {
			name := facts.Text(o.Object, "spec.secretName")
			key := [2]string{o.Object.GetNamespace(), name}
			other := secrets[key]
			if name == "" || other == nil {
				secrets[key] = o
				continue
			}
			if other.Ref() != o.Ref() && invalidCertificate(o.Object) == nil { // else one object, delivered twice: another check's
				s.Report(o, "spec.secretName", key[0], name, other.Ref(), other.Component).OneCause(o.Ref().String())
			}
		}
	},
}
