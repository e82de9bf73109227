package operator

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var operatorIdle = judge.Check{
	ID: "MX653", Name: "operator-does-nothing", Needs: judge.Rendered, Gives: reason.DeployFailed,
	Title: "The operator of a custom resource has pods, and looks in its namespace",
	Why: "A custom resource is data until its operator acts on it (https://kubernetes.io/docs/concepts/extend-kubernetes/operator/). Stand-ins of a cell do their part without a pod. " +
		"prometheus-operator and cert-manager look in all namespaces unless a flag names some.",
	Fix:  "Give the operator a replica, or have it look in the namespace of the resource.",
	Says: "waits for its operator, %s (%s), which has 0 replicas", Then: nothingActs,
	Others: map[string]judge.Message{"elsewhere": {Says: "waits for its operator, %s (%s), which looks only in namespace %s (--%s)", Then: nothingActs}},
	Run: func(s *judge.Scope) {
		operators := map[schema.GroupKind][]*bundle.Workload{}
		for i := range s.Expectation.Workloads {
			w := &s.Expectation.Workloads[i]
			for _, kind := range facts.Operates(w) {
				operators[kind] = append(operators[kind], w)
			}
		}
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			all := operators[o.Object.GroupVersionKind().GroupKind()]
			paused, _, _ := unstructured.NestedBool(o.Object.Object, "spec", "paused")
			if len(all) == 0 || paused || slices.ContainsFunc(all, func(w *bundle.Workload) bool { return acts(w, o.Object) }) {
				continue
			}
			w := all[len(all)-1]
			at := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
			if facts.Idle(w) {
				s.Report(o, "", at, w.Component).SetBy("replicas").OneCause(at.String())
				continue
			}
			flag, namespaces := looksIn(w, o.Object.GetKind())
			s.ReportAs("elsewhere", o, "metadata.namespace", at, w.Component, strings.Join(namespaces, ", "), flag).
				SetBy(strings.Join(namespaces, ",")).OneCause(at.String() + o.Object.GetNamespace())
		}
	},
}

const nothingActs = "nothing acts on it: no object that it stands for is made, and its status stays empty"

// acts reports whether an operator does something for a resource.
func acts(w *bundle.Workload, o *unstructured.Unstructured) bool {
	if facts.Idle(w) {
		return false
	}
	_, namespaces := looksIn(w, o.GetKind())
	return o.GetNamespace() == "" || len(namespaces) == 0 || slices.Contains(namespaces, o.GetNamespace())
}

// looksIn are the only namespaces in which an operator looks for a kind, and the flag that says so;
// none if it looks everywhere, or if that cannot be known.
func looksIn(w *bundle.Workload, kind string) (flag string, namespaces []string) {
	flags := []string{"namespace"} // cert-manager's
	switch kind {
	case "Prometheus":
		flags = []string{"prometheus-instance-namespaces", "namespaces"}
	case "Alertmanager":
		flags = []string{"alertmanager-instance-namespaces", "namespaces"}
	case "Certificate", "Issuer":
	default:
		return "", nil
	}
	for _, flag := range flags {
		for _, c := range w.PodSpec.Containers {
			for i, arg := range c.Args {
				name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
				if name != flag {
					continue
				}
				if !given && i+1 < len(c.Args) {
					value = c.Args[i+1]
				}
				if value == "" || strings.Contains(value, "$(") {
					return "", nil
				}
				return flag, strings.Split(value, ",")
			}
		}
	}
	return "", nil
}
