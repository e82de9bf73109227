package delivery

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var operatorAfterResource = judge.Check{
	ID: "MX558", Name: "operator-after-its-resource", Needs: judge.Rendered, First: true, Lanes: func(o judge.Order) bool { return o.ArgoCD && !o.AtOnce }, Gives: reason.DeployFailed,
	Title: "Argo CD creates an operator no later than the resources that it makes ready",
	Why: "Argo CD goes on to the next wave once all of a wave is healthy (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/). It has health checks for these kinds, and calls a resource without a status Progressing. " +
		"In a cell a stand-in answers without the operator.",
	Fix:  "Give the operator a lower argocd.argoproj.io/sync-wave.",
	Says: "is ready only once its operator has seen it, and Argo CD creates the operator, %s (%s), only later (%s), once this is ready",
	Then: "each waits for the other: give the operator a lower argocd.argoproj.io/sync-wave",
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			if late := lateOperator(s, o); late != nil {
				s.Report(o, "", late.Ref(), late.Component, late.Template).SetBy(o.Object.GetName()).OneCause(late.Ref().String())
			}
		}
	},
}

// awaited reports whether Argo CD waits for the status of a resource that an operator alone acts on.
func awaited(kind schema.GroupKind) bool {
	return kind.Group == "cert-manager.io" || kind.Group == "monitoring.coreos.com" && kind.Kind == "Prometheus"
}

// lateOperator is the last of the operators of a resource, if all come only once the resource is ready.
func lateOperator(s *judge.Scope, o *bundle.Object) (late *bundle.Object) {
	kind := o.Object.GroupVersionKind().GroupKind()
	if !awaited(kind) {
		return nil
	}
	q := lane.Sequence{Order: s.Order, Expectation: s.Expectation}
	for i := range s.Expectation.Workloads {
		w := &s.Expectation.Workloads[i]
		if !slices.Contains(facts.Operates(w), kind) {
			continue
		}
		if late = s.RenderedOf(w); late == nil || !q.After(late, o) {
			return nil
		}
	}
	return late
}
