package network

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var ingressBackend = judge.Check{
	ID: "MX217", Name: "ingress-without-backend", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf(networkingv1.GroupName, "Ingress"),
	Title: "The Services of an Ingress exist, with the ports that it names",
	Why:   "A controller sends the requests of a path to a port of a Service (https://kubernetes.io/docs/concepts/services-networking/ingress/#ingress-rules). The API server does not look whether there is one.",
	Fix:   "Correct the name or the port of the backend.",
	Says:  "sends requests to Service %s, which does not exist", Then: "its controller answers with an error",
	Others: map[string]judge.Message{"port": {Says: "sends requests to port %s of Service %s, which has no such port", Then: "its controller answers with an error"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(networkingv1.GroupName, "Ingress")...) {
			in := facts.As[networkingv1.Ingress](s.Index, o)
			if in == nil {
				continue
			}
			for _, b := range backends(in) {
				full := infra.NamespacedName(in.Namespace, b.Name)
				svc := s.Service(in.Namespace, b.Name)
				switch {
				case svc == nil && lacksService(s, in.Namespace, b.Name, o.Ref()):
					s.Report(o, b.path+".name", full)
				case svc != nil && !slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
					return p.Name == b.Port.Name && b.Port.Name != "" || p.Port == b.Port.Number
				}):
					port := b.Port.Name
					if port == "" {
						port = fmt.Sprint(b.Port.Number)
					}
					s.ReportAs("port", o, b.path+".port", port, full).SetBy(b.Name)
				}
			}
		}
	},
}

// backend is where an Ingress sends requests, with its field.
type backend struct {
	networkingv1.IngressServiceBackend
	path string
}

// backends are the Services and ports of an Ingress, each once.
func backends(in *networkingv1.Ingress) (all []backend) {
	add := func(b *networkingv1.IngressBackend, path string) {
		if b != nil && b.Service != nil && !slices.ContainsFunc(all, func(have backend) bool { return have.IngressServiceBackend == *b.Service }) {
			all = append(all, backend{*b.Service, path + ".service"})
		}
	}
	add(in.Spec.DefaultBackend, "spec.defaultBackend")
	for i, rule := range in.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for j := range rule.HTTP.Paths {
			add(&rule.HTTP.Paths[j].Backend, fmt.Sprintf("spec.rules[%d].http.paths[%d].backend", i, j))
		}
	}
	return all
}
