package bundle

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle/operators"
)

// podTemplate is where each kind of workload keeps its pod spec.
func podTemplate(obj *unstructured.Unstructured) (spec map[string]any, ok bool) {
	var path []string
	switch gvk := obj.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "batch/Job":
		path = []string{"spec", "template", "spec"}
	case "batch/CronJob":
		path = []string{"spec", "jobTemplate", "spec", "template", "spec"}
	case "/Pod":
		path = []string{"spec"}
	default:
		return nil, false
	}
	v, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
	spec, _ = v.(map[string]any)
	return spec, true
}

// pods is the number of pods that a workload must have; -1 for a DaemonSet. A CronJob has none
// until its time comes.
func pods(obj *unstructured.Unstructured) int {
	number := func(field string, otherwise int) int {
		v, ok, err := unstructured.NestedInt64(obj.Object, "spec", field)
		if !ok || err != nil || v < 0 || v > math.MaxInt32 {
			return otherwise
		}
		return int(v)
	}
	switch obj.GetKind() {
	case "Deployment", "StatefulSet":
		return number("replicas", 1)
	case "DaemonSet":
		return -1
	case "CronJob":
		return 0
	case "Job":
		if suspended, _, _ := unstructured.NestedBool(obj.Object, "spec", "suspend"); suspended {
			return 0
		}
		return number("completions", number("parallelism", 1))
	}
	return 1
}

// workloadOf turns an object into the workload that it is. Its warning, if any, says why its pod
// spec could not be read.
func workloadOf(o Object) (w Workload, ok bool, warning string) {
	spec, ok := podTemplate(o.Object)
	if !ok {
		return Workload{}, false, ""
	}
	w = Workload{
		Component: o.Component, Release: o.Release,
		Kind: o.Object.GetKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName(),
		Replicas: pods(o.Object), Template: o.Template, Hook: o.Hook, Ephemeral: o.Ephemeral,
	}
	if w.Kind == "Job" {
		if _, ttl, _ := unstructured.NestedInt64(o.Object.Object, "spec", "ttlSecondsAfterFinished"); ttl {
			w.Ephemeral = true
		}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &w.PodSpec); err != nil {
		w.PodSpec = corev1.PodSpec{}
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
