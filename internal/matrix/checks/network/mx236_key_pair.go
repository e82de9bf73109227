package network

import (
	"crypto/tls"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var keyPair = judge.Check{
	ID: "MX236", Name: "key-of-another-certificate", Needs: judge.Rendered, Kinds: judge.KindsOf("", "Secret"), Gives: reason.WorkloadFailed,
	Title: "The key in a rendered Secret is that of its certificate",
	Why:   "A program that serves with tls.crt and tls.key refuses a pair that does not match, e.g. of two calls of genSignedCert (https://kubernetes.io/docs/concepts/configuration/secret/#tls-secrets). crypto/tls of Go is asked. What is no certificate is left out: it may be filled in later.",
	Fix:   "Take both from one call.",
	Says:  "has a tls.key that is not of its tls.crt", Then: "what serves with them does not start",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "Secret")...) {
			_, err := tls.X509KeyPair([]byte(facts.SecretText(o, "tls.crt")), []byte(facts.SecretText(o, "tls.key")))
			if err != nil && strings.Contains(err.Error(), "private key does not match public key") {
				s.Report(o, `data["tls.key"]`).SetBy("")
			}
		}
	},
}
