package idle

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// awaited reports whether Argo CD waits for the status of a resource, of the kinds in served: it has a
// health check for the kind, which calls a resource without a status Progressing.
func awaited(kind schema.GroupKind) bool {
	return kind.Group == "cert-manager.io" || kind.Group == "monitoring.coreos.com" && kind.Kind == "Prometheus"
}

// Late returns the custom resources whose operators all come only once the resource is ready. after
// reports whether an object comes only once another is ready. A stand-in answers without an operator.
func Late(e *bundle.Expectation, after func(o, user *bundle.Object) bool) []problem.Problem {
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		kind := o.Object.GroupVersionKind().GroupKind()
		if !awaited(kind) {
			continue
		}
		var late *bundle.Object
		for j := range e.Workloads {
			w := &e.Workloads[j]
			if !slices.Contains(kindsOf(w), kind) {
				continue
			}
			at := slices.IndexFunc(e.Objects, func(other bundle.Object) bool {
				return other.Release == w.Release && other.Object.GetKind() == w.Kind && other.Object.GetNamespace() == w.Namespace && other.Object.GetName() == w.Name
			})
			if at < 0 || !after(&e.Objects[at], o) {
				late = nil
				break
			}
			late = &e.Objects[at]
		}
		if late == nil {
			continue
		}
		p := problem.Of(o)
		p.Reason, p.Name, p.Cause = reason.DeployFailed, o.Object.GetName(), "late operator "+late.Ref().String()
		p.Text = fmt.Sprintf("is ready only once its operator has seen it, and Argo CD creates the operator, %s (%s), only later (%s), once this is ready", late.Ref(), late.Component, late.Template)
		p.Then = "each waits for the other: give the operator a lower argocd.argoproj.io/sync-wave"
		found = append(found, p)
	}
	return found
}
