package operators

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Scaled returns how many pods a workload has once the HorizontalPodAutoscaler among these objects,
// if any, has acted for the first time. Without metrics it moves the number between its bounds, and
// it leaves a workload alone that is scaled to zero
// (https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/).
func Scaled[T any](objects []T, of func(T) *unstructured.Unstructured, kind, namespace, name string, replicas int) int {
	if replicas <= 0 {
		return replicas
	}
	for i := range objects {
		o := of(objects[i])
		if o.GetKind() != "HorizontalPodAutoscaler" || o.GroupVersionKind().Group != "autoscaling" || o.GetNamespace() != namespace {
			continue
		}
		target, _, _ := unstructured.NestedStringMap(o.Object, "spec", "scaleTargetRef")
		if target["kind"] != kind || target["name"] != name {
			continue
		}
		least, ok, _ := unstructured.NestedInt64(o.Object, "spec", "minReplicas")
		if !ok {
			least = 1
		}
		replicas = max(replicas, int(least))
		if most, ok, _ := unstructured.NestedInt64(o.Object, "spec", "maxReplicas"); ok && most >= least {
			replicas = min(replicas, int(most))
		}
	}
	return replicas
}
