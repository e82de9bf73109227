package daytwo

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// driftScaled finds autoscalers that Argo CD's self-heal works against: the workload is rendered with a number
// of pods outside of what its autoscaler keeps it at, whatever that measures. Each writes its own again.
func driftScaled(e *bundle.Expectation, components []recipe.Component) (findings []result.Finding) {
	for i := range e.Objects {
		o := &e.Objects[i]
		var h autoscalingv2.HorizontalPodAutoscaler
		if o.Object.GetKind() != "HorizontalPodAutoscaler" || !problem.Read(o, &h) {
			continue
		}
		target := h.Spec.ScaleTargetRef
		w := scaledBy(e, h.Namespace, target)
		if w == nil {
			continue
		}
		replicas, ok := replicasOf(w.Object)
		least, most := int64(1), int64(h.Spec.MaxReplicas)
		if h.Spec.MinReplicas != nil {
			least = int64(*h.Spec.MinReplicas)
		}
		if !ok || replicas == 0 || replicas >= least && replicas <= most {
			continue
		}
		ref := o.Ref()
		place, where := facts.PlaceOf(components, w.Component, w.Template, "")
		findings = append(findings, result.Finding{
			Check: fightsAutoscaler.ID, Object: &ref, Component: o.Component,
			Cause: fmt.Sprintf("%s (%s): keeps %s between %d and %d pods, and it is rendered with replicas: %d, which Argo CD's self-heal writes back each time: pods come and go for ever",
				ref, o.Component, observe.WorkloadKey(target.Kind, h.Namespace, target.Name), least, most, replicas),
			Place: place, Story: []string{"edit: leave replicas out of " + w.Template, where},
		})
	}
	return findings
}

func scaledBy(e *bundle.Expectation, namespace string, target autoscalingv2.CrossVersionObjectReference) *bundle.Object {
	for i := range e.Objects {
		if o := &e.Objects[i]; o.Object.GetKind() == target.Kind && o.Object.GetNamespace() == namespace && o.Object.GetName() == target.Name {
			return o
		}
	}
	return nil
}

func replicasOf(o *unstructured.Unstructured) (n int64, ok bool) {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
	switch v := value.(type) {
	case int64:
		return v, true
	case float64: // of YAML
		return int64(v), true
	}
	return 0, false
}
