package refs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// admission checks what a pod names and the API server looks up before it admits the pod. If a
// workload has pods, it exists.
func (c *checker) admission(w *bundle.Workload) {
	spec := &w.PodSpec
	from := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
	for _, n := range []struct {
		kind, namespace, name string
		have                  map[string]bool
		rule                  string
	}{
		{"ServiceAccount", w.Namespace, spec.ServiceAccountName, c.have.ServiceAccounts, "the API server rejects its pods"},
		{"PriorityClass", "", spec.PriorityClassName, c.have.PriorityClasses, "the API server rejects its pods"},
		{"RuntimeClass", "", deref(spec.RuntimeClassName), c.have.RuntimeClasses, "the API server rejects its pods"},
	} {
		full := infra.NamespacedName(n.namespace, n.name)
		if n.name == "" || n.have[full] {
			continue
		}
		if m := c.maker(n.kind, n.namespace, n.name, from); m != nil {
			c.note("%s %s, which %s (%s) names, is made at run time by %s", n.kind, full, from, w.Component, m.By)
			continue
		}
		c.fail(reason.WorkloadFailed, refsReference{from: from, component: w.Component, template: w.Template, name: n.name, cause: n.kind + full, then: n.rule,
			text: fmt.Sprintf("names %s %s, which does not exist, and nothing in the recipe makes it", n.kind, full)})
	}
	c.scheduler(w, from)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (c *checker) scheduler(w *bundle.Workload, from result.Ref) {
	name := observe.OtherScheduler(&w.PodSpec)
	if name == "" {
		return
	}
	if by := runsScheduler(c.expectation, name); by != "" {
		c.note("%s (%s) is for the scheduler %s, which %s runs", from, w.Component, name, by)
		return
	}
	c.fail(reason.SchedulingFailed, refsReference{from: from, component: w.Component, template: w.Template, name: name, cause: "scheduler " + name,
		then: "no scheduler looks at its pods", text: fmt.Sprintf("is for the scheduler %s, which nothing in the recipe runs", name)})
}

// template checks the pod template of a workload that has no pods by itself: nothing else would.
func (c *checker) template(w *bundle.Workload) {
	if why.AdmitsTemplate(w, c.have.View) {
		return
	}
	if os, foreign := observe.ForeignOS(&w.PodSpec, c.have.View.Nodes); foreign {
		c.note("%s wants %s nodes; the cluster has none", observe.WorkloadKey(w.Kind, w.Namespace, w.Name), os)
		return
	}
	f := why.SchedulingFinding(observe.WorkloadReport{Wrong: []observe.WrongWorkload{{Workload: w, Text: "no node would admit its pods", Template: true}}}, c.have.View)
	for i := range f.Findings {
		c.AddFault(reason.SchedulingFailed, &f.Findings[i])
	}
}

// claims checks the storage classes of claims: a provisioner creates volumes for existing classes
// only. The scheduler reports it for existing pods; this is for the others.
func (c *checker) claims() {
	objects := facts.OfObjects(c.expectation)
	for i := range objects {
		o := &objects[i]
		r := refsReference{from: o.From, component: o.Component, template: o.Template}
		if o.From.Kind != "PersistentVolumeClaim" || o.Spec.VolumeName == "" {
			c.class(r, o.Meta, o.Spec)
			c.source(r, o.Namespace, o.Spec)
		}
	}
	for i := range c.expectation.Workloads {
		w := &c.expectation.Workloads[i]
		r := refsReference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template}
		for j := range w.PodSpec.Volumes {
			v := &w.PodSpec.Volumes[j]
			if own := facts.OfVolume(w, v); own != nil {
				c.class(r, own.Meta, own.Spec)
				c.source(r, w.Namespace, own.Spec)
			}
			if v.PersistentVolumeClaim != nil && !starts(w) {
				c.claim(r, w, v.PersistentVolumeClaim.ClaimName)
			}
		}
	}
}

func (c *checker) claim(r refsReference, w *bundle.Workload, name string) {
	full := infra.NamespacedName(w.Namespace, name)
	if c.have.Claims[full] {
		return
	}
	r.name, r.cause = name, "PersistentVolumeClaim "+full
	r.text = "mounts PersistentVolumeClaim " + full + ", which does not exist, and nothing in the recipe makes it"
	r.then = "the scheduler does not place its pods"
	if m := c.maker("PersistentVolumeClaim", w.Namespace, name, r.from); m != nil {
		c.note("PersistentVolumeClaim %s, which %s (%s) mounts, is made at run time by %s", full, r.from, r.component, m.By)
		return
	}
	c.fail(reason.SchedulingFailed, r)
}

func (c *checker) class(r refsReference, meta *metav1.ObjectMeta, spec *corev1.PersistentVolumeClaimSpec) {
	name, named := meta.Annotations[corev1.BetaStorageClassAnnotation]
	if spec.StorageClassName != nil {
		name, named = *spec.StorageClassName, true
	}
	if named && name == simulate.DefaultClassName && !c.ofClass(name) {
		c.note("claim %s of %s (%s) names StorageClass %s: the harness made it, as the default class of this cell; whether your cluster has one of that name was not compared", meta.Name, r.from, r.component, name)
	}
	if named && (name == "" || c.have.StorageClasses[name] || c.ofClass(name)) || !named && c.have.DefaultClass {
		return
	}
	r.name, r.cause, r.then = name, "StorageClass "+name, "no provisioner makes its volume"
	r.text = fmt.Sprintf("claim %s wants StorageClass %s, which does not exist, and nothing in the recipe makes it", meta.Name, name)
	if !named {
		r.text = fmt.Sprintf("claim %s names no StorageClass, and the cluster has no default one", meta.Name)
	}
	if made := facts.FindManifests(c.expectation, "StorageClass", name); named && len(made) > 0 {
		c.note("StorageClass %s, which claim %s of %s (%s) wants, is made at run time by the text of %s (%s)", name, meta.Name, r.from, r.component, made[0].By.Ref(), made[0].By.Component)
		return
	}
	c.fail(reason.SchedulingFailed, r)
}

// ofClass reports whether there are volumes of a class. Such a class need not exist: it then only says which
// claims are for them.
func (c *checker) ofClass(name string) bool {
	for _, v := range c.have.Volumes {
		if v.Spec.StorageClassName == name {
			return true
		}
	}
	return false
}
