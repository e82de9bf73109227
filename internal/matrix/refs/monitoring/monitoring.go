// Package monitoring finds rules and monitors that prometheus-operator refuses, or leaves out of what it configures,
// by what they say alone. It runs only where it is real. Expressions are read by Prometheus' own parser. It must not
// know what a metric is called.
package monitoring

import (
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Find returns the mistakes. They are faults where the bundle has prometheus-operator: other programs read the same
// kinds in ways of their own.
func Find(e *bundle.Expectation) []problem.Problem {
	f := &finder{e: e, operated: slices.ContainsFunc(e.Workloads, func(w bundle.Workload) bool {
		return len(w.PodSpec.Containers) > 0 && podspec.OfRepository(w.PodSpec.Containers[0].Image, "prometheus-operator/prometheus-operator")
	})}
	for i := range e.Objects {
		o := &e.Objects[i]
		const leftOut = "prometheus-operator leaves the object out"
		if o.Object.GroupVersionKind().Group != "monitoring.coreos.com" {
			continue
		}
		switch o.Object.GetKind() {
		case "PrometheusRule":
			f.rules(o)
		case "ServiceMonitor":
			f.monitor(o, "endpoints", "serviceMonitor")
			f.missing(o, false, leftOut)
		case "PodMonitor":
			f.monitor(o, "podMetricsEndpoints", "podMonitor")
			f.missing(o, false, leftOut)
		case "AlertmanagerConfig":
			f.routed(o)
			f.missing(o, false, leftOut)
		case "Probe", "ScrapeConfig":
			f.missing(o, false, leftOut)
		case "Prometheus", "PrometheusAgent", "Alertmanager", "ThanosRuler":
			f.missing(o, true, "prometheus-operator makes no pods of it that run")
			if o.Object.GetKind() == "Alertmanager" {
				f.configuration(o)
			}
		}
	}
	return f.found
}

type finder struct {
	e        *bundle.Expectation
	operated bool // by prometheus-operator
	found    []problem.Problem
}

func (f *finder) add(o *bundle.Object, m *mistake, then string) {
	p := problem.Of(o)
	p.Name, p.Text, p.Then, p.Cause = m.name, m.text, then, "monitoring "+o.Ref().String()
	if f.operated && !m.unsure {
		p.Reason = reason.DeployFailed
	}
	f.found = append(f.found, p)
}
