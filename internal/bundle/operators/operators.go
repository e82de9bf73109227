// Package operators stands in for operators that a simulated cluster does not run. It knows only
// which objects each of them would create for its custom resource, and has no client of a cluster.
// The bundle uses it to say which workloads must exist; the simulated cluster uses it to create
// them.
package operators

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// standIn is one kind of custom resource whose operator is stood in for.
type standIn struct {
	GVK schema.GroupVersionKind
	// Reason says, in one line for a person, why the stand-in is needed.
	Reason string
	// Operator is the name of the operator's Deployment, for a cluster-scoped kind: what is made
	// goes to the Deployment's namespace.
	Operator string

	synthesize func(cr *unstructured.Unstructured, namespace string) []*unstructured.Unstructured // nil: it makes nothing
	status     func(cr *unstructured.Unstructured, now string) map[string]any                     // nil: a stage writes it
}

// standIns lists every kind that Synthesize knows. The list is closed on purpose: each entry is
// reviewed, and each use is printed in the result.
func standIns() []standIn {
	return []standIn{
		{
			GVK:        schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "Prometheus"},
			Reason:     "prometheus-operator would make a StatefulSet of it and report its status, which Argo CD's health check waits for",
			synthesize: prometheus, status: monitoringStatus,
		},
		{
			GVK:        schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "Alertmanager"},
			Reason:     "prometheus-operator would make a StatefulSet of it and report its status, which Argo CD's health check waits for",
			synthesize: alertmanager, status: monitoringStatus,
		},
		certManager("Certificate"), certManager("Issuer"), certManager("ClusterIssuer"),
		gpuOperator(), computeDomain(),
	}
}

func certManager(kind string) standIn {
	return standIn{
		GVK:    schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: kind},
		Reason: "cert-manager would report Ready, which Argo CD's health check waits for",
		status: readyStatus,
	}
}

// Kinds lists the kinds of standIns.
func Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, s := range standIns() {
		kinds = append(kinds, s.GVK)
	}
	return kinds
}

// Reason says why a kind has a stand-in, or returns "" for a kind without one.
func Reason(gvk schema.GroupVersionKind) string {
	for _, s := range standIns() {
		if s.GVK == gvk {
			return s.Reason
		}
	}
	return ""
}

// WritesStatus reports whether Status has a status for a kind.
func WritesStatus(gvk schema.GroupVersionKind) bool {
	for _, s := range standIns() {
		if s.GVK == gvk {
			return s.status != nil
		}
	}
	return false
}

// OperatorOf is the Deployment in whose namespace the operator of a cluster-scoped kind makes what
// Synthesize gives; empty for kinds of which nothing is made, or in their own namespace.
func OperatorOf(gvk schema.GroupVersionKind) string {
	for _, s := range standIns() {
		if s.GVK == gvk {
			return s.Operator
		}
	}
	return ""
}

// Synthesize returns the objects that the operator of a custom resource creates for it, in the
// custom resource's namespace, or in that of the operator if the resource has none. It returns nil
// for a kind that is not in standIns and for a resource that its operator ignores (spec.paused).
// The caller adds owner references, since it knows the resource's UID. The argument is not changed,
// and the result shares no memory with it.
func Synthesize(cr *unstructured.Unstructured, operatorNamespace string) []*unstructured.Unstructured {
	for _, s := range standIns() {
		if s.GVK == cr.GroupVersionKind() && s.synthesize != nil {
			return s.synthesize(cr.DeepCopy(), operatorNamespace)
		}
	}
	return nil
}
