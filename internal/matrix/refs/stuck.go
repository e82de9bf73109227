package refs

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// hooksOnly finds releases of hooks alone. Argo CD compares no hooks, so that such an Application
// has no difference and is never synced (https://github.com/argoproj/argo-cd/issues/22694).
func (c order) hooksOnly() {
	for _, r := range c.expectation.Releases {
		var first *bundle.Object
		objects, hooks := 0, 0
		for i := range c.expectation.Objects {
			o := &c.expectation.Objects[i]
			if o.Release != r.Name {
				continue
			}
			objects++
			if !ArgoHook(o.Object) {
				break
			}
			if hooks++; first == nil {
				first = o
			}
		}
		if hooks == 0 || hooks < objects {
			continue
		}
		c.fail(reason.DeployFailed, refsReference{from: first.Ref(), component: first.Component, template: first.Template, cause: "hooks only " + r.Name,
			text: fmt.Sprintf("is a hook, and release %s has nothing else (objects: %d)", r.Name, objects),
			then: "Argo CD never syncs an Application of hooks only, since it compares none of them (argo-cd 22694): make one an ordinary object, or add one"})
	}
}

// ArgoHook reports whether Argo CD takes an object for a hook.
func ArgoHook(o *unstructured.Unstructured) bool {
	if own, ok := o.GetAnnotations()[rendering.ArgoHook]; ok {
		return own != "Skip"
	}
	hook, ok := o.GetAnnotations()[rendering.HelmHook]
	return ok && hook != "crd-install"
}

// finalizers finds hooks that Helm deletes once they have succeeded, and that a finalizer keeps:
// Helm waits until such a hook is gone. Finalizers of kinds that are not Kubernetes' own are for an
// operator, which is simulated.
func (c order) finalizers(o *bundle.Object) {
	group := o.Object.GroupVersionKind().Group
	if c.Order.ArgoCD || !o.Hook || !o.Ephemeral || strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
		return
	}
	for _, f := range o.Object.GetFinalizers() {
		if slices.Contains([]string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}, f) || strings.HasPrefix(f, "kubernetes.io/") {
			continue // the controller manager removes it
		}
		c.fail(reason.DeployFailed, refsReference{from: o.Ref(), component: o.Component, template: o.Template, name: f, cause: "finalizer " + o.Ref().String(),
			text: fmt.Sprintf("is a hook that is deleted when it has succeeded, and nothing in the recipe removes its finalizer %s", f),
			then: "Helm waits for ever until it is gone"})
	}
}

// endless finds hooks that are pods which are started again whenever they end. Helm waits until such a
// pod has succeeded; for Argo CD it is enough that it is ready.
func (c order) endless(o *bundle.Object) {
	if c.Order.ArgoCD || !o.Hook || o.Object.GetKind() != "Pod" || o.Object.GroupVersionKind().Group != "" {
		return
	}
	policy, _, _ := unstructured.NestedString(o.Object.Object, "spec", "restartPolicy")
	if policy != "" && policy != string(corev1.RestartPolicyAlways) {
		return
	}
	c.fail(reason.WorkloadFailed, refsReference{from: o.Ref(), component: o.Component, template: o.Template, cause: "endless " + o.Ref().String(),
		text: "is a hook, and its pod never ends: spec.restartPolicy is Always, which is the default",
		then: "Helm waits until it has succeeded: set restartPolicy to Never or OnFailure"})
}

// request finds manifests that are requests: the API server answers them and stores nothing, so that
// a deployer that looks for what it has delivered finds nothing.
func (c *checker) request(o *bundle.Object) {
	group, kind := o.Object.GroupVersionKind().Group, o.Object.GetKind()
	if group == "authorization.k8s.io" && strings.HasSuffix(kind, "Review") || group == "authentication.k8s.io" || group == "" && kind == "Binding" || group == "policy" && kind == "Eviction" {
		c.fail(reason.DeployFailed, refsReference{from: o.Ref(), component: o.Component, template: o.Template, cause: "request " + o.Ref().String(),
			text: "is a request, of which the API server stores nothing", then: "no deployer finds it afterwards: leave it out, or let a program of the recipe make it"})
	}
}

// attributes finds claims of a VolumeAttributesClass that does not exist. No managed Kubernetes has
// one by itself.
func (c *checker) attributes() {
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		r := refsReference{from: o.Ref(), component: o.Component, template: o.Template}
		switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
		case "/PersistentVolumeClaim":
			name, _, _ := unstructured.NestedString(o.Object.Object, "spec", "volumeAttributesClassName")
			c.attributesClass(r, name)
		case "apps/StatefulSet":
			templates, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", "volumeClaimTemplates")
			for _, t := range templates {
				m, _ := t.(map[string]any)
				name, _, _ := unstructured.NestedString(m, "spec", "volumeAttributesClassName")
				c.attributesClass(r, name)
			}
		}
	}
	for i := range c.expectation.Workloads {
		w := &c.expectation.Workloads[i]
		for _, v := range w.PodSpec.Volumes {
			if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
				r := refsReference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template}
				c.attributesClass(r, deref(v.Ephemeral.VolumeClaimTemplate.Spec.VolumeAttributesClassName))
			}
		}
	}
}

func (c *checker) attributesClass(r refsReference, name string) {
	const kind = "VolumeAttributesClass"
	if name == "" || observe.Makes(c.expectation, kind, "", name) {
		return
	}
	if m := c.maker(kind, "", name, r.from); m != nil {
		c.note("%s %s, which %s (%s) names, is made at run time by %s", kind, name, r.from, r.component, m.By)
		return
	}
	r.name, r.cause, r.then = name, kind+" "+name, "no provisioner makes its volume"
	r.text = fmt.Sprintf("wants %s %s, which nothing in the recipe makes", kind, name)
	c.fail(reason.SchedulingFailed, r)
}
