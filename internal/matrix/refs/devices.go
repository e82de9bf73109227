package refs

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// deviceClasses checks what pods without a scheduler's judgement claim: a claim or a template of
// claims that a workload names, and the classes of those that the bundle has. Of a workload that has
// pods, the scheduler says it.
func (c *checker) deviceClasses() {
	d := &c.have.Devices
	if !d.Read {
		return
	}
	for i := range c.expectation.Workloads {
		w := &c.expectation.Workloads[i]
		for _, claim := range w.PodSpec.ResourceClaims {
			switch {
			case claim.ResourceClaimTemplateName != nil && d.Template(w.Namespace, *claim.ResourceClaimTemplateName) == nil:
				c.claimed(w, "ResourceClaimTemplate", *claim.ResourceClaimTemplateName)
			case claim.ResourceClaimName != nil && d.Claim(w.Namespace, *claim.ResourceClaimName) == nil:
				c.claimed(w, "ResourceClaim", *claim.ResourceClaimName)
			}
		}
	}
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if o.Object.GroupVersionKind().Group != resourcev1.GroupName {
			continue
		}
		// Only v1's fields are known; another version's request has none of them.
		var spec resourcev1.ResourceClaimSpec
		switch o.Object.GetKind() {
		case "ResourceClaim":
			var claim resourcev1.ResourceClaim
			if problem.Read(o, &claim) {
				spec = claim.Spec
			}
		case "ResourceClaimTemplate":
			var template resourcev1.ResourceClaimTemplate
			if problem.Read(o, &template) {
				spec = template.Spec.Spec
			}
		}
		for _, name := range classesOf(&spec) {
			if name != "" && d.Class(name) == nil {
				c.unclassed(o, name)
			}
		}
	}
}

// classesOf returns the classes without which a claim is never allocated: of alternatives, the only
// one.
func classesOf(spec *resourcev1.ResourceClaimSpec) []string {
	var names []string
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if r.Exactly != nil {
			names = append(names, r.Exactly.DeviceClassName)
		} else if len(r.FirstAvailable) == 1 {
			names = append(names, r.FirstAvailable[0].DeviceClassName)
		}
	}
	return names
}

func (c *checker) claimed(w *bundle.Workload, kind, name string) {
	full := infra.NamespacedName(w.Namespace, name)
	r := refsReference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template, name: name, cause: kind + full, then: "the scheduler does not place its pods",
		text: fmt.Sprintf("claims devices by %s %s, which does not exist, and nothing in the recipe makes it", kind, full)}
	if m := c.maker(kind, w.Namespace, name, r.from); m != nil {
		c.note("%s %s, by which %s (%s) claims devices, is made at run time by %s", kind, full, r.from, r.component, m.By)
		return
	}
	c.fail(reason.SchedulingFailed, r)
}

func (c *checker) unclassed(o *bundle.Object, name string) {
	r := refsReference{from: o.Ref(), component: o.Component, template: o.Template, name: name, cause: "DeviceClass " + name, then: "the scheduler allocates no device for it",
		text: fmt.Sprintf("claims a device of DeviceClass %s, which does not exist, and nothing in the recipe installs it", name)}
	if m := c.maker("DeviceClass", "", name, r.from); m != nil {
		c.note("DeviceClass %s, of which %s (%s) claims a device, is made at run time by %s", name, r.from, r.component, m.By)
		return
	}
	c.fail(reason.SchedulingFailed, r)
}
