package everyday

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// subdomain warns of pods whose names in DNS are those of a Service that does not exist, or that is not
// headless. A StatefulSet has its own check.
func (f *finder) subdomain(w *bundle.Workload) {
	if w.PodSpec.Subdomain == "" || w.Kind == "StatefulSet" {
		return
	}
	full, why := infra.NamespacedName(w.Namespace, w.PodSpec.Subdomain), "does not exist"
	for i := range f.have.Services {
		s := &f.have.Services[i]
		if s.Namespace != w.Namespace || s.Name != w.PodSpec.Subdomain {
			continue
		}
		if s.Spec.ClusterIP == corev1.ClusterIPNone {
			return
		}
		why = "is not headless (clusterIP: None)"
	}
	f.found = append(f.found, problem.Problem{
		From: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), Component: w.Component, Template: w.Template, Name: w.PodSpec.Subdomain,
		Text: "names Service " + full + " (subdomain), which " + why, Then: "its pods have no names in DNS",
	})
}

// governing warns of a StatefulSet of several pods whose Service gives them no names: it has an address of its
// own, or is for other pods. One that does not exist has its own check.
func (f *finder) governing(o *bundle.Object) {
	var set appsv1.StatefulSet
	if !problem.Read(o, &set) || set.Spec.ServiceName == "" || set.Spec.Replicas == nil || *set.Spec.Replicas < 2 {
		return
	}
	i := slices.IndexFunc(f.have.Services, func(s corev1.Service) bool {
		return s.Namespace == set.Namespace && s.Name == set.Spec.ServiceName
	})
	if i < 0 {
		return
	}
	why := ""
	switch s := &f.have.Services[i]; {
	case len(s.Spec.Selector) > 0 && !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(set.Spec.Template.Labels)):
		why = fmt.Sprintf("selects pods with %s, and its own are none of them", labels.Set(s.Spec.Selector))
	case s.Spec.ClusterIP != corev1.ClusterIPNone:
		why = "is not headless (clusterIP: None)"
	default:
		return
	}
	p := problem.Of(o)
	p.Name, p.Then = set.Spec.ServiceName, fmt.Sprintf("its pods have no names in DNS: %s-0.%s is that of none", set.Name, set.Spec.ServiceName)
	p.Text = fmt.Sprintf("names Service %s (spec.serviceName), which %s", infra.NamespacedName(set.Namespace, set.Spec.ServiceName), why)
	f.found = append(f.found, p)
}

// snapshot warns of a VolumeSnapshot of a class that nothing makes. Its controller would say so in a status that
// nobody writes here.
func (f *finder) snapshot(o *bundle.Object) {
	class, _, _ := unstructured.NestedString(o.Object.Object, "spec", "volumeSnapshotClassName")
	if class == "" || slices.ContainsFunc(f.e.Objects, func(other bundle.Object) bool {
		return other.Object.GetKind() == "VolumeSnapshotClass" && other.Object.GetName() == class
	}) {
		return
	}
	p := problem.Of(o)
	p.Name, p.Text = class, fmt.Sprintf("is of VolumeSnapshotClass %s, which nothing in the recipe makes", class)
	p.Then, p.Missing = "no snapshot is taken, unless the cluster has that class", result.Ref{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshotClass", Name: class}
	f.found = append(f.found, p)
}

// finalizers warns of a finalizer on an object of a kind of Kubernetes, which nobody but a controller of the
// recipe's own would remove. Hooks have their own check.
func (f *finder) finalizers(o *bundle.Object) {
	if group := o.Object.GroupVersionKind().Group; o.Hook || strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
		return
	}
	for _, name := range o.Object.GetFinalizers() {
		if slices.Contains([]string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}, name) || strings.Contains(name, "kubernetes.io/") || strings.Contains(name, ".k8s.") {
			continue
		}
		p := problem.Of(o)
		p.Name, p.Text = name, fmt.Sprintf("has the finalizer %s", name)
		p.Then = "it is never gone once it is deleted, unless something removes the finalizer, and a removal of the release hangs"
		f.found = append(f.found, p)
	}
}

// defaultAccount warns of the ServiceAccount that Kubernetes makes in every namespace.
func (f *finder) defaultAccount(o *bundle.Object) {
	if o.Object.GetName() != "default" {
		return
	}
	p := problem.Of(o)
	p.Name, p.Text = "default", "is Kubernetes' own: the controller manager makes it in every namespace"
	p.Then = "Helm refuses to take it over, unless it is faster, and Argo CD and Flux replace it: name another one in the pods (serviceAccountName)"
	f.found = append(f.found, p)
}
