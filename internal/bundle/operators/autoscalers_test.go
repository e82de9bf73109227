package operators

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestScaled(t *testing.T) {
	object := func(apiVersion, kind, namespace string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "web", "namespace": namespace}, "spec": spec}}
	}
	target := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
	hpa := func(namespace string, bounds map[string]any) []*unstructured.Unstructured {
		bounds["scaleTargetRef"] = target
		return []*unstructured.Unstructured{object("autoscaling/v2", "HorizontalPodAutoscaler", namespace, bounds)}
	}
	for name, tc := range map[string]struct {
		objects        []*unstructured.Unstructured
		kind           string
		replicas, want int
	}{
		"none":               {nil, "Deployment", 3, 3},
		"more":               {hpa("x", map[string]any{"minReplicas": int64(5), "maxReplicas": int64(9)}), "Deployment", 1, 5},
		"fewer":              {hpa("x", map[string]any{"maxReplicas": int64(2)}), "Deployment", 4, 2},
		"within":             {hpa("x", map[string]any{"minReplicas": int64(2), "maxReplicas": int64(9)}), "Deployment", 4, 4},
		"scaled to zero":     {hpa("x", map[string]any{"minReplicas": int64(5), "maxReplicas": int64(9)}), "Deployment", 0, 0},
		"another namespace":  {hpa("y", map[string]any{"minReplicas": int64(5), "maxReplicas": int64(9)}), "Deployment", 1, 1},
		"a DaemonSet":        {hpa("x", map[string]any{"minReplicas": int64(5), "maxReplicas": int64(9)}), "DaemonSet", -1, -1},
		"of another kind":    {hpa("x", map[string]any{"minReplicas": int64(5), "maxReplicas": int64(9)}), "StatefulSet", 1, 1},
		"bounds that cannot": {hpa("x", map[string]any{"minReplicas": int64(5), "maxReplicas": int64(2)}), "Deployment", 1, 5},
	} {
		if got := Scaled(tc.objects, func(o *unstructured.Unstructured) *unstructured.Unstructured { return o }, tc.kind, "x", "web", tc.replicas); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}
