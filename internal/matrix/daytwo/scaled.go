package daytwo

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

var replicasLeft = judge.Check{
	ID: "MX728", Name: "replicas-left-to-autoscaler", Needs: judge.Second, Later: true, Kinds: judge.KindsOf(autoscalingv2.GroupName, "HorizontalPodAutoscaler"),
	Title: "A workload keeps its pods when its number is left to an autoscaler",
	Why: "Who takes replicas out of a workload that had it delivers 1, the default: all pods but one are stopped, until the autoscaler has noticed " +
		"(https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/#migrating-deployments-and-statefulsets-to-horizontal-autoscaling). The end of the upgrade does not show it.",
	Fix:  "Before the upgrade, take the field out of what the deployer remembers, as the page says (kubectl apply edit-last-applied), or deliver the autoscaler first and take replicas out in a quiet hour.",
	Says: "keeps %s between %d and %d pods, and the upgrade takes its replicas: %d away", Then: "it falls to 1 pod, until the autoscaler has noticed",
	Run: func(s *judge.Scope) {
		b := bundlesOf(s)
		for _, o := range s.Rendered(judge.KindsOf(autoscalingv2.GroupName, "HorizontalPodAutoscaler")...) {
			h, now := scales(&b.Now.Expectation, o)
			if now == nil {
				continue
			}
			old := b.Before.Expectation.Object(now.Ref())
			if old == nil {
				continue
			}
			had, _ := replicasOf(old.Object)
			if _, has := replicasOf(now.Object); has || had < 2 {
				continue
			}
			s.Report(o, "spec.scaleTargetRef", now.Ref(), least(h), h.Spec.MaxReplicas, had)
		}
	},
}

// scales reads an autoscaler, and finds the workload that it scales; nil if it is of another kind, or scales nothing
// that is delivered.
func scales(e *bundle.Expectation, o *bundle.Object) (h autoscalingv2.HorizontalPodAutoscaler, w *bundle.Object) {
	if o.Object.GetKind() != "HorizontalPodAutoscaler" || !problem.Read(o, &h) {
		return h, nil
	}
	return h, scaledBy(e, h.Namespace, h.Spec.ScaleTargetRef)
}

// least is the number of pods below which an autoscaler does not go.
func least(h autoscalingv2.HorizontalPodAutoscaler) int64 {
	if h.Spec.MinReplicas == nil {
		return 1
	}
	return int64(*h.Spec.MinReplicas)
}

// driftScaled finds autoscalers that Argo CD's self-heal works against: the workload is rendered with a number
// of pods outside of what its autoscaler keeps it at, whatever that measures. Each writes its own again.
func driftScaled(e *bundle.Expectation, components []recipe.Component) (findings []result.Finding) {
	for i := range e.Objects {
		o := &e.Objects[i]
		h, w := scales(e, o)
		if w == nil {
			continue
		}
		target := h.Spec.ScaleTargetRef
		replicas, ok := replicasOf(w.Object)
		least, most := least(h), int64(h.Spec.MaxReplicas)
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
