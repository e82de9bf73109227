package network

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var loadBalancerPort = judge.Check{
	ID: "MX219", Name: "load-balancer-port-twice", Needs: judge.Rendered, Kinds: judge.KindsOf("", "Service"),
	Title: "A load balancer has each port for one protocol",
	Why:   "Kubernetes allows a Service of type LoadBalancer to mix protocols, and says that the provider decides whether that works (https://kubernetes.io/docs/concepts/services-networking/service/#load-balancers-with-mixed-protocol-types).",
	Fix:   "Make two Services of it.",
	Says:  "is a load balancer with port %d for %s and for %s", Then: "not every provider's load balancer can have both",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "Service")...) {
			svc := facts.As[corev1.Service](s.Index, o)
			if svc == nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
				continue
			}
			seen := map[int32]corev1.Protocol{}
			for i, p := range svc.Spec.Ports {
				protocol := cmp.Or(p.Protocol, corev1.ProtocolTCP)
				if other, twice := seen[p.Port]; twice && other != protocol {
					s.Report(o, fmt.Sprintf("spec.ports[%d]", i), p.Port, other, protocol)
				}
				seen[p.Port] = protocol
			}
		}
	},
}
