package workload

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var autoscalerAPI = judge.Check{
	ID: "MX162", Name: "autoscaler-metric-without-adapter", Needs: judge.Rendered, Kinds: autoscalers,
	Title: "Something serves the metrics that an autoscaler asks for",
	Why: "Metrics of the types Pods and Object come from the API custom.metrics.k8s.io, those of type External from external.metrics.k8s.io. Kubernetes has neither: an adapter does, by an APIService " +
		"(https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#support-for-metrics-apis). Of a cluster that has one already, --with says so.",
	Fix:  "Deliver an adapter, e.g. prometheus-adapter, with that API, or scale by CPU or memory.",
	Says: "scales %s by a metric of type %s, from the API %s, which nothing in the recipe serves", Then: "unless the cluster has an adapter, it scales nothing",
	Run: func(s *judge.Scope) {
		served := map[string]bool{}
		for _, o := range s.OfKind(judge.KindsOf("apiregistration.k8s.io", "APIService")...) {
			_, group, _ := strings.Cut(o.Object.GetName(), ".")
			served[group] = true
		}
		for _, h := range scalers(s) {
			for i, m := range h.Spec.Metrics {
				group := map[autoscalingv2.MetricSourceType]string{
					autoscalingv2.PodsMetricSourceType: "custom.metrics.k8s.io", autoscalingv2.ObjectMetricSourceType: "custom.metrics.k8s.io", autoscalingv2.ExternalMetricSourceType: "external.metrics.k8s.io",
				}[m.Type]
				if group != "" && !served[group] && !s.More() && !servesLater(s, group) {
					s.Report(h.object, fmt.Sprintf("spec.metrics[%d].type", i), h.target, m.Type, group)
				}
			}
		}
	},
}

// servesLater reports whether an object of the recipe names the API, e.g. the role of an operator that registers it by itself.
func servesLater(s *judge.Scope, group string) bool {
	return slices.ContainsFunc(s.Expectation.Objects, func(o bundle.Object) bool {
		raw, err := o.Object.MarshalJSON()
		return err == nil && !slices.Contains(autoscalers, o.Object.GroupVersionKind().GroupKind()) && strings.Contains(string(raw), `"`+group+`"`)
	})
}
