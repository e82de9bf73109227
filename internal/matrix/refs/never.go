package refs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// rendered fills the Services of what exists with those that the bundle has: before a cluster
// exists, they are all that is known.
func (c *checker) rendered() {
	c.have = &facts.Live{}
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		var s corev1.Service
		if o.Object.GetKind() == "Service" && o.Object.GroupVersionKind().Group == "" && problem.Read(o, &s) {
			c.have.Services = append(c.have.Services, s)
		}
	}
}

// owned finds objects whose owners do not exist: the garbage collector deletes such an object at
// once, and Argo CD creates it again for ever. No object of a cluster that does not exist yet has a
// UID, so that every reference of a rendering leads nowhere. The collector leaves an object alone
// if nothing serves the owner's kind.
func (c *checker) owned(o *bundle.Object) {
	refs := o.Object.GetOwnerReferences()
	for _, owner := range refs {
		group := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group
		if owner.UID == "" || !c.defined(group, owner.Kind) {
			return // the API server's fault to name, or an owner that counts as one
		}
	}
	if len(refs) == 0 {
		return
	}
	first := refs[0]
	c.fail(reason.DeployFailed, refsReference{from: o.Ref(), component: o.Component, template: o.Template, name: first.Name, cause: "owner of " + o.Ref().String(),
		text: fmt.Sprintf("has %s %s with UID %s as its owner (metadata.ownerReferences), and no object of a new cluster can have that UID", first.Kind, first.Name, first.UID),
		then: "the garbage collector deletes it as soon as it is created"})
}

// defined reports whether the API server serves a kind, as far as the bundle shows.
func (c *checker) defined(group, kind string) bool {
	if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
		return true
	}
	for i := range c.expectation.Objects {
		if apis.Defines(c.expectation.Objects[i].Object, schema.GroupKind{Group: group, Kind: kind}) {
			return true
		}
	}
	return false
}

// conversion checks what the API server needs to convert the versions of a kind by a webhook: its
// Service, and a caBundle that trusts the certificate. Both are known before anything is deployed.
// On a simulated cluster a stand-in converts, so that the webhook itself is not verified.
func (c *checker) conversion(o *bundle.Object) {
	path := []string{"spec", "conversion", "webhook", "clientConfig"}
	raw, ok, _ := unstructured.NestedMap(o.Object.Object, path...)
	var client admissionv1.WebhookClientConfig // that of a conversion has the same fields
	if !ok || o.Object.GetKind() != "CustomResourceDefinition" || runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &client) != nil {
		return
	}
	r := refsReference{from: o.Ref(), component: o.Component, template: o.Template}
	if problem := c.loopback(r, client.URL); problem != "" {
		r.cause, r.text, r.then = "conversion of "+r.from.String(), "is converted by "+problem, "its resources cannot be read in another version"
		c.fail(reason.DeployFailed, r)
	}
	if client.Service == nil {
		return
	}
	c.served(o, r, append(path, "service"), "is converted by", "its resources cannot be read in another version")
	if c.have.Service(client.Service.Namespace, client.Service.Name) == nil {
		return
	}
	if len(client.CABundle) > 0 { // an operator may set its own later, without a role that shows it
		c.trust(o, r, "of the conversion", &client, nil)
	}
}

// conversions notes the kinds that webhooks convert, with whether the result can be wrong.
func (c *checker) conversions(o *bundle.Object, r refsReference) {
	service, ok, _ := unstructured.NestedMap(o.Object.Object, "spec", "conversion", "webhook", "clientConfig", "service")
	s := c.have.Service(fmt.Sprint(service["namespace"]), fmt.Sprint(service["name"]))
	if !ok || s != nil && c.have.Runs != nil && slices.ContainsFunc(c.have.View.Pods, func(p corev1.Pod) bool {
		return p.Namespace == s.Namespace && len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(p.Labels)) && c.have.Runs(&p.Spec.Containers[0])
	}) {
		return // its own program converts
	}
	c.note("the versions of %s (%s) are converted by Service %s/%s, whose pods are simulated: where its objects have another version than the stored one, only apiVersion was changed", r.from, r.component, service["namespace"], service["name"])
}

// minReady is how long the pods of a workload must be ready before it counts as available.
func minReady(o *unstructured.Unstructured) time.Duration {
	seconds, _, _ := unstructured.NestedInt64(o.Object, "spec", "minReadySeconds")
	if group := o.GroupVersionKind().Group; group != "apps" && group != "" {
		return 0
	}
	return time.Duration(min(seconds, mostSeconds)) * time.Second
}

// mostSeconds is a day: what a sum of is still a duration, whatever a chart renders.
const mostSeconds = 24 * 60 * 60

// MinReady is the time that the minReadySeconds of workloads take, at most: releases wait for each
// other, and the workloads of one do not.
func MinReady(e *bundle.Expectation) time.Duration {
	longest := map[string]time.Duration{}
	for i := range e.Objects {
		o := &e.Objects[i]
		longest[o.Release] = max(longest[o.Release], minReady(o.Object))
	}
	var sum time.Duration
	for _, d := range longest {
		sum += d
	}
	return sum
}

// soonReady is the time that pods need to become ready, with which minReadySeconds begins.
const soonReady = 15 * time.Second

// patience finds workloads that are available only once their deployer has given up. Close to its
// limit, chance would decide.
func (c order) patience(o *bundle.Object) {
	least := minReady(o.Object)
	within := c.within(o.Release)
	if within == 0 || least+soonReady <= within {
		return
	}
	c.fail(reason.DeployFailed, refsReference{from: o.Ref(), component: o.Component, template: o.Template, cause: "minReadySeconds " + o.Ref().String(),
		text: fmt.Sprintf("has minReadySeconds: %d, so that it is available %s after its pods are ready at the earliest, and its release fails after %s", int(least.Seconds()), least, within),
		then: "Flux waits for its release no longer (spec.timeout of the HelmRelease)"})
}

// unbound finds claims that have no volume before their deployer gives up: their class waits for
// the first pod that uses them (WaitForFirstConsumer), and none comes until the release is ready. A
// custom resource with the claim's name may stand for such a pod.
func (c order) unbound(o *bundle.Object) {
	var claim corev1.PersistentVolumeClaim
	within := c.within(o.Release)
	waits := within != 0 && !o.Hook || c.Order.ArgoCD
	if !waits || o.Object.GetKind() != "PersistentVolumeClaim" || !problem.Read(o, &claim) || claim.Spec.VolumeName != "" || !c.waitsForPod(claim.Spec.StorageClassName) {
		return
	}
	if c.Order.ArgoCD {
		c.boundLater(o)
		return
	}
	for i := range c.expectation.Workloads {
		w := &c.expectation.Workloads[i]
		if w.Namespace == claim.Namespace && starts(w) && (w.Release == o.Release || !c.DependsOn(w.Release, o.Release)) && uses(w, claim.Name) {
			return
		}
	}
	if c.standsForPod(claim.Name) {
		return
	}
	c.fail(reason.DeployFailed, refsReference{from: o.Ref(), component: o.Component, template: o.Template, cause: "unbound " + o.Ref().String(),
		text: fmt.Sprintf("gets a volume only once a pod uses it (volumeBindingMode: WaitForFirstConsumer), no pod does until its release is ready, and its release fails after %s", within),
		then: "Flux waits for the claim to be bound (spec.timeout of the HelmRelease): let a pod of its release use it, leave it out, or give it a class with volumeBindingMode: Immediate"})
}

// within is how long the deployer waits for a release; 0 if it does not, or does not give up.
func (c order) within(release string) time.Duration {
	if i := c.Position(release); i >= 0 {
		if g := c.expectation.Releases[i].Given; g.Within > 0 || g.Unawaited {
			return g.Within
		}
	}
	return c.Order.Within
}

// boundLater finds claims that Argo CD waits for in a sync wave or as a hook, while the pods that would
// have them bound come after that. It gives up at no time.
func (c order) boundLater(o *bundle.Object) {
	name, at := o.Object.GetName(), lane.MomentOf(o.Object, true)
	var later *bundle.Object
	for i := range c.expectation.Workloads {
		w := &c.expectation.Workloads[i]
		if w.Namespace != o.Object.GetNamespace() || !starts(w) || !uses(w, name) {
			continue
		}
		user := c.find(w.Kind, w.Namespace, w.Name, w.Release)
		if user == nil || w.Release != o.Release || lane.MomentOf(user.Object, true).Compare(at) <= 0 {
			return
		}
		later = user
	}
	if later == nil || c.standsForPod(name) {
		return
	}
	c.fail(reason.DeployFailed, refsReference{from: o.Ref(), component: o.Component, template: o.Template, cause: "unbound " + o.Ref().String(),
		text: fmt.Sprintf("gets a volume only once a pod uses it (volumeBindingMode: WaitForFirstConsumer), and Argo CD creates %s, whose pods do, in a later sync wave or phase (%s)", later.Ref(), later.Template),
		then: "Argo CD waits for the claim to be bound before that, and each waits for the other: give both the same argocd.argoproj.io/sync-wave, and make neither a hook"})
}

// standsForPod reports whether a custom resource names a claim: its operator may make pods that use it.
func (c order) standsForPod(claim string) bool {
	return slices.ContainsFunc(c.expectation.Objects, func(o bundle.Object) bool {
		return strings.Contains(o.Object.GroupVersionKind().Group, ".") && slices.Contains(facts.Leaves(o.Object.Object), claim)
	})
}

// waitsForPod reports whether claims of a class are bound only once a pod uses them. The classes of
// a cluster do, as those of the providers; one of the recipe says it. Nil stands for the default.
func (c order) waitsForPod(class *string) bool {
	if class != nil && *class == "" {
		return false
	}
	var all []*unstructured.Unstructured
	for i := range c.expectation.Objects {
		all = append(all, c.expectation.Objects[i].Object)
	}
	for _, made := range facts.FindManifests(c.expectation, "StorageClass", deref(class)) {
		all = append(all, made.Object)
	}
	for _, o := range all {
		if o.GetKind() != "StorageClass" || class != nil && o.GetName() != *class || class == nil && o.GetAnnotations()[simulate.DefaultClass] != "true" {
			continue
		}
		mode, _, _ := unstructured.NestedString(o.Object, "volumeBindingMode")
		return mode == string(storagev1.VolumeBindingWaitForFirstConsumer)
	}
	return true
}

// uses reports whether the pods of a workload mount a claim, by its name or as one of a StatefulSet's.
func uses(w *bundle.Workload, claim string) bool {
	return slices.ContainsFunc(w.PodSpec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	}) || w.Kind == "StatefulSet" && strings.Contains(claim, "-"+w.Name+"-")
}
