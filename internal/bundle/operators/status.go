package operators

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Status is the status that the operator of a custom resource would report once all is well, or nil
// for a kind that is not in standIns. now is the time of the transition in RFC 3339.
func Status(cr *unstructured.Unstructured, now string) map[string]any {
	for _, s := range standIns() {
		if s.GVK == cr.GroupVersionKind() && s.status != nil {
			return s.status(cr, now)
		}
	}
	return nil
}

func condition(cr *unstructured.Unstructured, conditionType, reason, now string) map[string]any {
	return map[string]any{
		"type": conditionType, "status": "True", "reason": reason, "message": "written by aicr-action's stand-in of the operator",
		"lastTransitionTime": now, "observedGeneration": cr.GetGeneration(),
	}
}

// monitoringStatus: prometheus-operator reports Available and Reconciled, and the pods it made.
func monitoringStatus(cr *unstructured.Unstructured, now string) map[string]any {
	replicas, found, err := unstructured.NestedInt64(cr.Object, "spec", "replicas")
	if err != nil || !found {
		replicas = 1
	}
	return map[string]any{
		"paused": false, "replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas, "unavailableReplicas": int64(0),
		"conditions": []any{condition(cr, "Available", "", now), condition(cr, "Reconciled", "", now)},
	}
}

// readyStatus: cert-manager reports Ready on its issuers and certificates.
func readyStatus(cr *unstructured.Unstructured, now string) map[string]any {
	return map[string]any{"conditions": []any{condition(cr, "Ready", "Ready", now)}}
}
