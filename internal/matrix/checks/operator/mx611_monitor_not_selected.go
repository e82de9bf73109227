package operator

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// selectors are the fields of a Prometheus that choose objects of a kind, without their endings Selector and
// NamespaceSelector.
var selectors = map[string]string{"ServiceMonitor": "serviceMonitor", "PodMonitor": "podMonitor", "Probe": "probe", "ScrapeConfig": "scrapeConfig", "PrometheusRule": "rule"}

var monitorNotSelected = judge.Check{
	ID: "MX611", Name: "monitor-not-selected", Needs: judge.Rendered, Kinds: judge.KindsOf(monitoring, "Prometheus"),
	Title: "A Prometheus of the recipe selects its monitors and rules",
	Why: "A Prometheus reads the objects that its selectors for labels and namespaces take; without the selector of a kind it reads none, without one for namespaces only its own " +
		"(https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PrometheusSpec). A cluster may have another Prometheus.",
	Fix:  "Give the object the labels that the selector asks for, or widen the selector.",
	Says: "is selected by no Prometheus of the recipe: not by %sSelector and %[1]sNamespaceSelector of %[2]s", Then: "unless the cluster has another one, it does nothing",
	Run: func(s *judge.Scope) {
		by := s.Rendered(judge.KindsOf(monitoring, "Prometheus", "PrometheusAgent", "ThanosRuler")...)
		var names []string
		for _, p := range by {
			if p.Object.GetKind() == "Prometheus" {
				names = append(names, p.Ref().String())
			}
		}
		for _, o := range s.Rendered(judge.KindsOf(monitoring, "ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig", "PrometheusRule")...) {
			field := selectors[o.Object.GetKind()]
			if len(names) > 0 && !slices.ContainsFunc(by, func(p *bundle.Object) bool { return facts.Chooses(p.Object, o.Object, field) }) {
				s.Report(o, "metadata.labels", field, strings.Join(names, ", "))
			}
		}
	},
}
