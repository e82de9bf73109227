package network

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var targetPort = judge.Check{
	ID: "MX220", Name: "target-port-has-no-name", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf("", "Service"),
	Title: "The targetPort of a Service is a port of its pods",
	Why: "A targetPort that is a name is looked up among the ports of the pods' containers (https://kubernetes.io/docs/concepts/services-networking/service/#field-spec-ports). " +
		"A number may be one that a container listens on and does not declare, so that only names count here.",
	Fix:  "Name a port of the container so, or correct targetPort.",
	Says: "sends port %d to port %s of its pods, and no container has one of that name", Then: "nothing answers there",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "Service")...) {
			svc := facts.As[corev1.Service](s.Index, o)
			if svc == nil || len(svc.Spec.Selector) == 0 || svc.Spec.Type == corev1.ServiceTypeExternalName {
				continue
			}
			for i, p := range svc.Spec.Ports {
				if name := p.TargetPort.StrVal; p.TargetPort.Type == intstr.String && name != "" && lacksPort(s, svc.Namespace, labels.SelectorFromSet(svc.Spec.Selector), name) {
					s.Report(o, fmt.Sprintf("spec.ports[%d].targetPort", i), p.Port, name)
				}
			}
		}
	},
}

// lacksPort reports whether there are pods with the labels, and none of them has a port of the name.
func lacksPort(s *judge.Scope, namespace string, selector labels.Selector, name string) bool {
	specs, all := s.PodsWith(selector, func(in string) bool { return in == namespace })
	return all && len(specs) > 0 && !slices.ContainsFunc(specs, func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(slices.Concat(spec.InitContainers, spec.Containers), func(c corev1.Container) bool {
			return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == name })
		})
	})
}
