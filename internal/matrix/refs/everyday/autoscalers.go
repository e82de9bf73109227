package everyday

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// autoscaler checks that an autoscaler can scale its target, and measure it. Whether the target exists is
// another check's.
func (f *finder) autoscaler(o *bundle.Object) {
	var h autoscalingv2.HorizontalPodAutoscaler
	if !problem.Read(o, &h) {
		return
	}
	t := h.Spec.ScaleTargetRef
	key := observe.WorkloadKey(t.Kind, h.Namespace, t.Name)
	if wrong, then := unscalable(t); wrong != "" {
		p := problem.Of(o)
		p.Name, p.Cause, p.Reason = t.APIVersion, "target "+key, reason.DeployFailed
		p.Text, p.Then = fmt.Sprintf("scales %s %s", key, wrong), "the autoscaler reports FailedGetScale and scales nothing"+then
		f.found = append(f.found, p)
		return
	}
	if replicas, ok := f.rendered(t.Kind, h.Namespace, t.Name); ok {
		least := int64(1)
		if h.Spec.MinReplicas != nil {
			least = int64(*h.Spec.MinReplicas)
		}
		p := problem.Of(o)
		p.Name = t.Name
		switch {
		case replicas == 0:
			p.Text, p.Then = fmt.Sprintf("scales %s, which has replicas: 0", key), "the autoscaler is off (ScalingDisabled) until somebody else gives it a pod"
			f.found = append(f.found, p)
			return
		case replicas < least || replicas > int64(h.Spec.MaxReplicas):
			p.Text = fmt.Sprintf("keeps %s between %d and %d pods, and it has replicas: %d", key, least, h.Spec.MaxReplicas, replicas)
			p.Then = "the autoscaler and an Argo CD that heals itself undo each other for ever: leave replicas out"
			f.found = append(f.found, p)
		}
	}
	i := slices.IndexFunc(f.e.Workloads, func(w bundle.Workload) bool {
		return w.Kind == t.Kind && w.Name == t.Name && w.Namespace == h.Namespace
	})
	if i < 0 {
		return
	}
	pod := f.e.Workloads[i].PodSpec
	if f.have.Pods != nil {
		// A LimitRange gives containers requests that no template has.
		if pods := f.have.Pods(&f.e.Workloads[i]); len(pods) > 0 {
			pod = pods[0].Spec
		}
	}
	for _, m := range h.Spec.Metrics {
		if text, then := unmeasured(&m, &pod); text != "" {
			p := problem.Of(o)
			p.Text, p.Then = fmt.Sprintf("scales %s %s", key, text), then
			f.found = append(f.found, p)
		}
	}
}

// rendered returns the replicas that a workload is rendered with.
func (f *finder) rendered(kind, namespace, name string) (replicas int64, ok bool) {
	for i := range f.e.Objects {
		if o := f.e.Objects[i].Object; o.GetKind() == kind && o.GetNamespace() == namespace && o.GetName() == name {
			if replicas, ok, _ = unstructured.NestedInt64(o.Object, "spec", "replicas"); ok {
				return replicas, true
			}
		}
	}
	return 0, false
}

// unscalable says why the API server serves no scale of a target; empty if it does, or if the kind is not
// one of Kubernetes' own. The controller looks the kind up in the group that is named, of whatever version.
func unscalable(t autoscalingv2.CrossVersionObjectReference) (wrong, then string) {
	group := schema.FromAPIVersionAndKind(t.APIVersion, t.Kind).Group
	if !slices.Contains([]string{"", "extensions", "apps", "batch"}, group) {
		return "", "" // a kind of somebody else's that may have the same name
	}
	want := "apps/v1"
	switch t.Kind {
	case "DaemonSet", "Job", "CronJob", "Pod":
		return "(spec.scaleTargetRef), and a " + t.Kind + " has no scale", ""
	case "Deployment", "StatefulSet", "ReplicaSet":
	case "ReplicationController":
		want = "v1"
	default:
		return "", ""
	}
	if schema.FromAPIVersionAndKind(want, t.Kind).Group == group {
		return "", ""
	}
	return fmt.Sprintf("as apiVersion %q, in which the API server has no such kind", t.APIVersion), "; use apiVersion: " + want
}

// unmeasured says why nothing can be measured for a metric; empty if that is not known.
func unmeasured(m *autoscalingv2.MetricSpec, pod *corev1.PodSpec) (text, then string) {
	var resource corev1.ResourceName
	only, percent := "", false
	switch {
	case m.Resource != nil:
		resource, percent = m.Resource.Name, m.Resource.Target.Type == autoscalingv2.UtilizationMetricType
	case m.ContainerResource != nil:
		resource, only, percent = m.ContainerResource.Name, m.ContainerResource.Container, m.ContainerResource.Target.Type == autoscalingv2.UtilizationMetricType
	default:
		return "", ""
	}
	containers := slices.Concat(pod.Containers, pod.InitContainers)
	if only != "" && !slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == only }) {
		return fmt.Sprintf("by the %s of container %s, and its pods have no such container", resource, only), "it scales nothing: FailedGetContainerResourceMetric"
	}
	if pod.Resources != nil {
		if _, whole := pod.Resources.Requests[resource]; whole && only == "" {
			return "", ""
		}
	}
	for _, c := range pod.Containers {
		_, requested := c.Resources.Requests[resource]
		if _, limited := c.Resources.Limits[resource]; percent && !requested && !limited && (only == "" || only == c.Name) {
			return fmt.Sprintf("by the utilization of %s, and container %s requests none", resource, c.Name), "it scales nothing: FailedGetResourceMetric, missing request for " + string(resource)
		}
	}
	return "", ""
}
