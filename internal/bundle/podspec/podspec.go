// Package podspec finds the pods of workloads: where each kind keeps their spec, and how many there
// must be. It must not know bundles.
package podspec

import (
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Of is where each kind of workload keeps its pod spec.
func Of(obj *unstructured.Unstructured) (spec map[string]any, ok bool) {
	var path []string
	switch gvk := obj.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet", "batch/Job", "/ReplicationController":
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

// Count is the number of pods that a workload must have; -1 for a DaemonSet. A CronJob has none
// until its time comes.
func Count(obj *unstructured.Unstructured) int {
	number := func(field string, otherwise int) int {
		v, ok, err := unstructured.NestedInt64(obj.Object, "spec", field)
		if !ok || err != nil || v < 0 || v > math.MaxInt32 {
			return otherwise
		}
		return int(v)
	}
	switch obj.GetKind() {
	case "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController":
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
