package network

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var policyPort = judge.Check{
	ID: "MX221", Name: "policy-port-has-no-name", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf(networkingv1.GroupName, "NetworkPolicy"),
	Title: "The port that a NetworkPolicy opens is a port of its pods",
	Why:   "A port of an ingress rule that is a name is one of the containers of the pods that the policy is for (https://kubernetes.io/docs/reference/kubernetes-api/policy-resources/network-policy-v1/). If none has it, the rule opens nothing.",
	Fix:   "Name a port of the container so, or correct the policy.",
	Says:  "allows traffic to port %s of its pods, and no container has one of that name", Then: "it allows nothing there",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(networkingv1.GroupName, "NetworkPolicy")...) {
			p := facts.As[networkingv1.NetworkPolicy](s.Index, o)
			if p == nil {
				continue
			}
			selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
			for i, rule := range p.Spec.Ingress {
				for j, port := range rule.Ports {
					if err == nil && port.Port != nil && port.Port.Type == intstr.String && lacksPort(s, p.Namespace, selector, port.Port.StrVal) {
						s.Report(o, fmt.Sprintf("spec.ingress[%d].ports[%d].port", i, j), port.Port.StrVal)
					}
				}
			}
		}
	},
}
