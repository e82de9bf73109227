package network

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var subdomain = judge.Check{
	ID: "MX215", Name: "subdomain-without-service", Needs: judge.Rendered, Until: judge.Settled,
	Title: "The subdomain of pods is a headless Service",
	Why: "Pods with a hostname and a subdomain have a name in DNS if a headless Service has the subdomain's name " +
		"(https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-hostname-and-subdomain-fields).",
	Fix:  "Add the Service, with clusterIP: None.",
	Says: "names Service %s (subdomain), which does not exist", Then: "its pods have no names in DNS",
	Others: map[string]judge.Message{"address": {Says: "names Service %s (subdomain), which is not headless (clusterIP: None)", Then: "its pods have no names in DNS"}},
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			name, namespace := p.Template.Spec.Subdomain, p.Object.Object.GetNamespace()
			if name == "" || p.Object.Object.GetKind() == "StatefulSet" {
				continue // a StatefulSet has its own check
			}
			svc, full, path := s.Service(namespace, name), infra.NamespacedName(namespace, name), p.Path()+".subdomain"
			switch {
			case svc == nil:
				if s.Lacks(result.Ref{Kind: "Service", Namespace: namespace, Name: name}, p.Object.Ref()) {
					s.Report(p.Object, path, full)
				}
			case svc.Spec.ClusterIP != corev1.ClusterIPNone:
				s.ReportAs("address", p.Object, path, full)
			}
		}
	},
}
