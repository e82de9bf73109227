package operator

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var alertmanagerConfigRoute = judge.Check{
	ID: "MX658", Name: "alertmanagerconfig-route-leads-nowhere", Needs: judge.Rendered, Kinds: judge.KindsOf(monitoring, "AlertmanagerConfig"), Gives: reason.DeployFailed,
	Title: "The routes of an AlertmanagerConfig lead to receivers that it has",
	Why: "An AlertmanagerConfig has its receivers itself (https://prometheus-operator.dev/docs/developer/alerting/#using-alertmanagerconfig-resources). prometheus-operator's webhook refuses one with a route to another. " +
		"A warning where the bundle has no prometheus-operator.",
	Fix:  "Add the receiver, or correct the route.",
	Says: "%s", Then: "prometheus-operator's webhook refuses it; without the webhook, the operator leaves it out",
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf(monitoring, "AlertmanagerConfig")...) {
			spec, _, _ := unstructured.NestedMap(o.Object.Object, "spec")
			var c alertmanagerConfig
			if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &c) != nil || c.Route == nil {
				continue // the API server says what is wrong with it
			}
			var all []string
			for _, r := range c.Receivers {
				all = append(all, r.Name)
			}
			if why, receiver := nowhere(*c.Route, all); why != "" {
				operated(s, s.Report(o, "spec.route", why).SetBy(receiver).OneCause(o.Ref().String()), reason.DeployFailed)
			}
		}
	},
}
