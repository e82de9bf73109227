package facts

// claims_claims.go lists the volume claims that a bundle makes: its own, those of StatefulSets, and those
// of pods' ephemeral volumes. It must not know clusters, or what is wrong with a claim.

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
)

// ClaimTemplate is one claim, or the template of several.
type ClaimTemplate struct {
	problem.Problem // of what makes it, with nothing wrong yet
	Namespace       string
	// Name is the claim's or the template's, or that of the ephemeral volume. First is the name of the
	// first claim; empty for those of ephemeral volumes, which are named after pods.
	Name, First string
	// Path is its spec in the object that is or makes it; empty for those of ephemeral volumes.
	Path string
	// Times is how many there will be.
	Times int
	Meta  *metav1.ObjectMeta
	Spec  *corev1.PersistentVolumeClaimSpec
}

// ClaimsOf returns the claims of objects, in the order of the bundle, and then those of workloads.
func ClaimsOf(e *bundle.Expectation) []ClaimTemplate {
	all := ofObjects(e)
	for i := range e.Workloads {
		w := &e.Workloads[i]
		for j := range w.PodSpec.Volumes {
			if c := ofVolume(w, &w.PodSpec.Volumes[j]); c != nil {
				all = append(all, *c)
			}
		}
	}
	return all
}

// ofObjects returns the claims that are objects of the bundle, or are made by its StatefulSets.
func ofObjects(e *bundle.Expectation) (all []ClaimTemplate) {
	for i := range e.Objects {
		o := &e.Objects[i]
		switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
		case "/PersistentVolumeClaim":
			var c corev1.PersistentVolumeClaim
			if problem.Read(o, &c) {
				all = append(all, ClaimTemplate{Problem: problem.Of(o), Namespace: c.Namespace, Name: c.Name, First: c.Name, Path: "spec", Times: 1, Meta: &c.ObjectMeta, Spec: &c.Spec})
			}
		case "apps/StatefulSet":
			var set appsv1.StatefulSet
			if !problem.Read(o, &set) {
				continue
			}
			times := 1
			if set.Spec.Replicas != nil {
				times = int(*set.Spec.Replicas)
			}
			for j := range set.Spec.VolumeClaimTemplates {
				t := &set.Spec.VolumeClaimTemplates[j]
				all = append(all, ClaimTemplate{Problem: problem.Of(o), Namespace: set.Namespace, Name: t.Name, First: fmt.Sprintf("%s-%s-0", t.Name, set.Name), Path: fmt.Sprintf("spec.volumeClaimTemplates[%d].spec", j), Times: times, Meta: &t.ObjectMeta, Spec: &t.Spec})
			}
		}
	}
	return all
}

// ofVolume returns the claim of an ephemeral volume; nil for other volumes.
func ofVolume(w *bundle.Workload, v *corev1.Volume) *ClaimTemplate {
	if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
		return nil
	}
	t := v.Ephemeral.VolumeClaimTemplate
	return &ClaimTemplate{
		Problem:   problem.Problem{From: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), Component: w.Component, Template: w.Template},
		Namespace: w.Namespace, Name: v.Name, Times: w.Replicas, Spec: &t.Spec,
		Meta: &metav1.ObjectMeta{Name: ephemeral.VolumeClaimName(&corev1.Pod{}, v), Annotations: t.Annotations},
	}
}
