package workload

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
)

var autoscalers = judge.KindsOf(autoscalingv2.GroupName, "HorizontalPodAutoscaler")

// scaler is an autoscaler whose target may have a scale.
type scaler struct {
	*autoscalingv2.HorizontalPodAutoscaler
	object *bundle.Object
	// target is its key, e.g. Deployment x/web, and replicas what it is rendered with; -1 for none.
	target   string
	replicas int64
}

// scalers are the autoscalers of the bundle that a check may ask of: those whose target has a scale.
func scalers(s *judge.Scope) (all []scaler) {
	for _, o := range s.Rendered(autoscalers...) {
		h := facts.As[autoscalingv2.HorizontalPodAutoscaler](s.Index, o)
		if h == nil {
			continue
		}
		t := h.Spec.ScaleTargetRef
		if message, _ := unscalable(t); message == scalable {
			all = append(all, scaler{h, o, observe.WorkloadKey(t.Kind, h.Namespace, t.Name), replicasOf(s, t.Kind, h.Namespace, t.Name)})
		}
	}
	return all
}

func replicasOf(s *judge.Scope, kind, namespace, name string) int64 {
	for _, o := range s.Rendered() {
		if o.Object.GetKind() != kind || o.Object.GetNamespace() != namespace || o.Object.GetName() != name {
			continue
		}
		if replicas, ok, _ := unstructured.NestedInt64(o.Object.Object, "spec", "replicas"); ok {
			return replicas
		}
	}
	return -1
}

// scalable is the message for a target of which nothing is known against it.
const scalable = "scalable"

// unscalable is the message of autoscalerTarget for a target of which the API server serves no scale, with the version
// in which it does. A kind that is not one of Kubernetes' own is its operator's. The controller looks the kind up in
// the group that is named, of whatever version.
func unscalable(t autoscalingv2.CrossVersionObjectReference) (message, want string) {
	group := schema.FromAPIVersionAndKind(t.APIVersion, t.Kind).Group
	if !slices.Contains([]string{"", "extensions", "apps", "batch"}, group) {
		return scalable, "" // a kind of somebody else's that may have the same name
	}
	want = "apps/v1"
	switch t.Kind {
	case "DaemonSet", "Job", "CronJob", "Pod":
		return "", ""
	case "Deployment", "StatefulSet", "ReplicaSet":
	case "ReplicationController":
		want = "v1"
	default:
		return scalable, ""
	}
	if schema.FromAPIVersionAndKind(want, t.Kind).Group == group {
		return scalable, ""
	}
	return "version", want
}
