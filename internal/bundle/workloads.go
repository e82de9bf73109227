package bundle

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/operators"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
)

// workloadOf turns an object into the workload that it is. Its warning, if any, says why its pod
// spec could not be read.
func workloadOf(o Object) (w Workload, ok bool, warning string) {
	spec, ok := podspec.Of(o.Object)
	if !ok {
		return Workload{}, false, ""
	}
	w = Workload{
		Component: o.Component, Release: o.Release,
		Kind: o.Object.GetKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName(),
		Replicas: podspec.Count(o.Object), Template: o.Template, Manifest: o.Manifest, Chart: o.Chart, Hook: o.Hook, Ephemeral: o.Ephemeral, Unhooked: o.Ephemeral && !o.Hook,
	}
	if w.Kind == "Job" {
		if _, ttl, _ := unstructured.NestedInt64(o.Object.Object, "spec", "ttlSecondsAfterFinished"); ttl {
			w.Ephemeral = true
		}
	}
	if t, err := podspec.Read(map[string]any{"spec": spec}); err == nil {
		w.PodSpec = t.Spec
	} else {
		warning = fmt.Sprintf("%s: the pod spec of %s %s/%s is not a valid one: %v", o.Template, w.Kind, w.Namespace, w.Name, err)
	}
	return w, true, warning
}

// synthesized returns the objects that an operator creates for a custom resource, as if the
// template had rendered them. The operator is in the namespace of the release.
func synthesized(o Object, namespace string) []Object {
	var out []Object
	for _, made := range operators.Synthesize(o.Object, namespace) {
		s := o
		s.Object = made
		out = append(out, s)
	}
	return out
}
