package workload

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var autoscalerMetric = judge.Check{
	ID: "MX116", Name: "autoscaler-metric-without-requests", Needs: judge.Rendered, Until: judge.Settled, Kinds: autoscalers,
	Title: "An autoscaler can measure what it scales by",
	Why: "Utilization is a share of what the containers request. If one requests nothing of the resource, or the named container does not exist, the controller has no metric " +
		"(https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#how-does-a-horizontalpodautoscaler-work).",
	Fix:  "Give each container a request of the resource, or scale by an average value.",
	Says: "scales %s by the utilization of %s, and container %s requests none", Then: "it scales nothing: FailedGetResourceMetric, missing request for %[2]s",
	Others: map[string]judge.Message{"container": {Says: "scales %s by the %s of container %s, and its pods have no such container", Then: "it scales nothing: FailedGetContainerResourceMetric"}},
	Run: func(s *judge.Scope) {
		for _, h := range scalers(s) {
			pod := scaledPod(s, &h)
			if pod == nil || h.replicas == 0 {
				continue
			}
			for i := range h.Spec.Metrics {
				if message, resource, container := unmeasured(&h.Spec.Metrics[i], pod); container != "" {
					s.ReportAs(message, h.object, fmt.Sprintf("spec.metrics[%d]", i), h.target, resource, container)
				}
			}
		}
	},
}

var limitRanges = schema.GroupKind{Kind: "LimitRange"}

// scaledPod is a pod of what an autoscaler scales, or its template; nil if the bundle does not have it, or it is not known yet.
func scaledPod(s *judge.Scope, h *scaler) *corev1.PodSpec {
	t := h.Spec.ScaleTargetRef
	i := slices.IndexFunc(s.Pods(), func(p facts.PodTemplate) bool {
		return p.Object.Object.GetKind() == t.Kind && p.Object.Object.GetNamespace() == h.Namespace && p.Object.Object.GetName() == t.Name
	})
	if i < 0 {
		return nil
	}
	if s.Live == nil && (s.More() || s.Mutates() || s.Has(limitRanges) || s.MayMake(limitRanges, h.Namespace) || s.MayMake(schema.GroupKind{Kind: "Pod"}, "")) {
		return nil // a LimitRange or a program may give containers requests that no template has
	}
	if pods := s.LivePods(s.Pods()[i].Object); len(pods) > 0 {
		return &pods[0].Spec
	}
	return &s.Pods()[i].Template.Spec
}

// unmeasured is the message for a metric, its resource, and the container that cannot be measured; no container if
// nothing is known against it.
func unmeasured(m *autoscalingv2.MetricSpec, pod *corev1.PodSpec) (message string, resource corev1.ResourceName, container string) {
	only, percent := "", false
	switch {
	case m.Resource != nil:
		resource, percent = m.Resource.Name, m.Resource.Target.Type == autoscalingv2.UtilizationMetricType
	case m.ContainerResource != nil:
		resource, only, percent = m.ContainerResource.Name, m.ContainerResource.Container, m.ContainerResource.Target.Type == autoscalingv2.UtilizationMetricType
	default:
		return "", "", ""
	}
	if only != "" && !slices.ContainsFunc(slices.Concat(pod.Containers, pod.InitContainers), func(c corev1.Container) bool { return c.Name == only }) {
		return "container", resource, only
	}
	if pod.Resources != nil {
		if _, whole := pod.Resources.Requests[resource]; whole && only == "" {
			return "", "", ""
		}
	}
	for _, c := range pod.Containers {
		_, requested := c.Resources.Requests[resource]
		if _, limited := c.Resources.Limits[resource]; percent && !requested && !limited && (only == "" || only == c.Name) {
			return "", resource, c.Name
		}
	}
	return "", "", ""
}
