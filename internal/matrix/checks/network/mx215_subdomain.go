package network

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var subdomain = judge.Check{
	ID: "MX215", Name: "subdomain-without-service", Needs: judge.Settled,
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
			all, full, path := s.Services(), infra.NamespacedName(namespace, name), p.Path()+".subdomain"
			switch i := slices.IndexFunc(all, func(s corev1.Service) bool { return s.Namespace == namespace && s.Name == name }); {
			case i < 0:
				s.Report(p.Object, path, full)
			case all[i].Spec.ClusterIP != corev1.ClusterIPNone:
				s.ReportAs("address", p.Object, path, full)
			}
		}
	},
}
