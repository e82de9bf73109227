package facts

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// operated are the kinds that an operator alone acts on, by the repository of its image without the
// registry: the kinds whose status a stand-in writes.
var operated = map[string][]schema.GroupKind{
	"prometheus-operator/prometheus-operator": {{Group: "monitoring.coreos.com", Kind: "Prometheus"}, {Group: "monitoring.coreos.com", Kind: "Alertmanager"}},
	"jetstack/cert-manager-controller":        {{Group: "cert-manager.io", Kind: "Certificate"}, {Group: "cert-manager.io", Kind: "Issuer"}, {Group: "cert-manager.io", Kind: "ClusterIssuer"}},
	"nvidia/gpu-operator":                     {{Group: "nvidia.com", Kind: "ClusterPolicy"}, {Group: "nvidia.com", Kind: "NVIDIADriver"}},
	"nvidia/cloud-native/network-operator":    {{Group: "mellanox.com", Kind: "NicClusterPolicy"}},
	"nvidia/skyhook/operator":                 {{Group: "skyhook.nvidia.com", Kind: "Skyhook"}},
	"nvidia/kai-scheduler/operator":           {{Group: "kai.scheduler", Kind: "Config"}, {Group: "kai.scheduler", Kind: "SchedulingShard"}},
	"kai-scheduler/kai-scheduler/operator":    {{Group: "kai.scheduler", Kind: "Config"}, {Group: "kai.scheduler", Kind: "SchedulingShard"}},
}

// Operates are the kinds that a workload is the operator of.
func Operates(w *bundle.Workload) []schema.GroupKind {
	if w.Kind != "Deployment" && w.Kind != "StatefulSet" {
		return nil
	}
	var kinds []schema.GroupKind
	for image, of := range operated {
		if HasImage(w, image) {
			kinds = append(kinds, of...)
		}
	}
	return kinds
}

// HasImage reports whether a workload has a container with an image of a repository, whichever registry it
// comes from.
func HasImage(w *bundle.Workload, repository string) bool {
	return slices.ContainsFunc(w.PodSpec.Containers, func(c corev1.Container) bool {
		return podspec.OfRepository(c.Image, repository)
	})
}

// Idle reports whether a workload has no pods, and nothing of the bundle gives it any: an autoscaler
// is counted already, and leaves one of 0 as it is.
func Idle(w *bundle.Workload) bool {
	return w.Replicas == 0 && (w.Kind == "Deployment" || w.Kind == "StatefulSet")
}

// RenderedOf is the object of a workload; nil for one that only an operator makes.
func (x *Index) RenderedOf(w *bundle.Workload) *bundle.Object {
	for i := range x.Expectation.Objects {
		o := &x.Expectation.Objects[i]
		if o.Release == w.Release && o.Object.GetKind() == w.Kind && o.Object.GetNamespace() == w.Namespace && o.Object.GetName() == w.Name {
			return o
		}
	}
	return nil
}

// ObjectOf is the object of a workload, rendered or made by an operator; one with its name alone for a workload of
// which no text is known.
func (x *Index) ObjectOf(w *bundle.Workload) *bundle.Object {
	if o := x.RenderedOf(w); o != nil {
		return o
	}
	ref := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
	for i := range x.Expectation.Made {
		if o := &x.Expectation.Made[i]; o.Ref() == ref {
			return o
		}
	}
	o := x.Named(ref)
	o.Component, o.Release, o.Template = w.Component, w.Release, w.Template
	return o
}

// Named is an object of which nothing but its name is known.
func (x *Index) Named(ref result.Ref) *bundle.Object {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: ref.Group, Version: "v1", Kind: ref.Kind})
	o.SetNamespace(ref.Namespace)
	o.SetName(ref.Name)
	return &bundle.Object{Object: o}
}
