package network

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var externalName = judge.Check{
	ID: "MX201", Name: "external-name-leads-nowhere", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf("", "Service"),
	Title: "A Service of type ExternalName leads to a name that exists",
	Why: "DNS answers such a Service with a CNAME record (https://kubernetes.io/docs/concepts/services-networking/service/#externalname). " +
		"One for an IP address, for a Service that does not exist, or for itself resolves to nothing, and no controller says so.",
	Fix:  "Name a host or an existing Service; for an address use a Service without a selector and an EndpointSlice.",
	Says: "is another name for Service %s, which does not exist", Then: "its name leads nowhere",
	Others: map[string]judge.Message{
		"address": {Says: "has the address %s as its externalName, which is a name", Then: "DNS finds no such name; a Service without a selector and an EndpointSlice lead to an address"},
		"circle":  {Says: "is another name for itself: %s", Then: "its name leads nowhere"},
	},
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf("", "Service")...) {
			if svc := facts.As[corev1.Service](s.Index, o); svc != nil && svc.Spec.Type == corev1.ServiceTypeExternalName {
				follow(s, o, svc)
			}
		}
	},
}

// follow goes from name to name, and reports where that ends at none.
func follow(s *judge.Scope, o *bundle.Object, svc *corev1.Service) {
	const path = "spec.externalName"
	if _, err := netip.ParseAddr(svc.Spec.ExternalName); err == nil {
		s.ReportAs("address", o, path, svc.Spec.ExternalName)
		return
	}
	at, seen := svc, []string{infra.NamespacedName(svc.Namespace, svc.Name)}
	for at.Spec.Type == corev1.ServiceTypeExternalName {
		parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(at.Spec.ExternalName, "."), ".cluster.local"), ".")
		if len(parts) != 3 || parts[2] != "svc" {
			return // outside of the cluster
		}
		next := infra.NamespacedName(parts[1], parts[0])
		to := s.Service(parts[1], parts[0])
		switch {
		case to == nil:
			if s.Lacks(result.Ref{Kind: "Service", Namespace: parts[1], Name: parts[0]}, o.Ref()) {
				s.Report(o, path, next)
			}
			return
		case next == seen[0]:
			s.ReportAs("circle", o, path, strings.Join(append(seen, next), ", "))
			return
		case slices.Contains(seen, next):
			return // a circle that it is not in, which the others are warned of
		}
		at, seen = to, append(seen, next)
	}
}
