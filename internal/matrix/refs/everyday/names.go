package everyday

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
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
