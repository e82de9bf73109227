package operator

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
)

var monitorPort = judge.Check{
	ID: "MX610", Name: "monitor-port-has-no-name", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf(monitoring, "ServiceMonitor"),
	Title: "The port that a ServiceMonitor scrapes is the name of a Service's port",
	Why: "endpoints[].port is the name of a port of the Services that the selector takes (https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.Endpoint). " +
		"prometheus-operator makes a rule of it that keeps nothing if no Service has the name.",
	Fix:  "Name the port in the Service, or correct the monitor.",
	Says: "scrapes port %s of Service %s, which has no port of that name", Then: "nothing is scraped there",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(monitoring, "ServiceMonitor")...) {
			services := monitored(s, o)
			if s.Live == nil && s.MayMake(schema.GroupKind{Kind: "Service"}, "") {
				continue // which may have the port
			}
			endpoints, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", "endpoints")
			for i, item := range endpoints {
				endpoint, _ := item.(map[string]any)
				port, _ := endpoint["port"].(string)
				if port != "" && len(services) > 0 && !slices.ContainsFunc(services, func(s corev1.Service) bool {
					return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == port })
				}) {
					s.Report(o, fmt.Sprintf("spec.endpoints[%d].port", i), port, infra.NamespacedName(services[0].Namespace, services[0].Name))
				}
			}
		}
	},
}

// monitored are the Services that a ServiceMonitor with a selector takes.
func monitored(s *judge.Scope, o *bundle.Object) []corev1.Service {
	selector := problem.Selector(o, "spec", "selector")
	if selector == nil {
		return nil
	}
	in := scrapesIn(o)
	return slices.DeleteFunc(slices.Clone(s.Services()), func(s corev1.Service) bool {
		return !in(s.Namespace) || !selector.Matches(labels.Set(s.Labels))
	})
}
