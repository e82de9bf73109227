package network

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var ingressCertificate = judge.Check{
	ID: "MX212", Name: "ingress-without-certificate", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf(networkingv1.GroupName, "Ingress"),
	Title: "The Secret of an Ingress has a certificate",
	Why: "A controller takes tls.crt and tls.key from the Secret that spec.tls names (https://kubernetes.io/docs/concepts/services-networking/ingress/#tls). " +
		"Without them it serves another certificate, or none. An Ingress with annotations for cert-manager or another client of ACME gets its Secret later.",
	Fix:  "Add the Secret, of type kubernetes.io/tls, or let cert-manager make it.",
	Says: "takes its certificate from Secret %s, which does not exist", Then: "its controller answers with a certificate of its own, or not at all",
	Others: map[string]judge.Message{"keys": {Says: "takes its certificate from Secret %s, which has no tls.crt and tls.key", Then: "its controller answers with a certificate of its own, or not at all"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(networkingv1.GroupName, "Ingress")...) {
			in := facts.As[networkingv1.Ingress](s.Index, o)
			if in == nil || isIssued(in) {
				continue
			}
			for i, t := range in.Spec.TLS {
				full, path := infra.NamespacedName(in.Namespace, t.SecretName), fmt.Sprintf("spec.tls[%d].secretName", i)
				ref := result.Ref{Kind: "Secret", Namespace: in.Namespace, Name: t.SecretName}
				switch keys := s.SecretKeys(ref, o.Ref()); {
				case t.SecretName == "":
				case s.Lacks(ref, o.Ref()):
					s.Report(o, path, full).Missing(ref)
				case len(keys) > 0 && (!keys[corev1.TLSCertKey] || !keys[corev1.TLSPrivateKeyKey]):
					s.ReportAs("keys", o, path, full)
				}
			}
		}
	},
}

// isIssued reports whether an annotation asks somebody for the certificate.
func isIssued(in *networkingv1.Ingress) bool {
	for key := range in.Annotations {
		if strings.Contains(key, "cert-manager.io/") || strings.Contains(key, "acme") {
			return true
		}
	}
	return false
}
