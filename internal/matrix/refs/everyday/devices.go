package everyday

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
)

// requested warns of containers that name a request which their claim does not have. A kubelet passes them
// the devices of that request, which are none.
func (f *finder) requested(w *bundle.Workload) {
	for _, c := range slices.Concat(w.PodSpec.InitContainers, w.PodSpec.Containers) {
		for _, use := range c.Resources.Claims {
			i := slices.IndexFunc(w.PodSpec.ResourceClaims, func(p corev1.PodResourceClaim) bool { return p.Name == use.Name })
			if use.Request == "" || i < 0 {
				continue
			}
			of, requests := f.requestsOf(w.Namespace, &w.PodSpec.ResourceClaims[i])
			base, _, _ := strings.Cut(use.Request, "/") // the rest is one of several that would do
			if of == "" || slices.Contains(requests, base) {
				continue
			}
			f.found = append(f.found, problem.Problem{From: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), Component: w.Component, Template: w.Template, Name: use.Request,
				Text: fmt.Sprintf("container %s takes request %s of claim %s, and %s has no such request (it has %s)", c.Name, use.Request, use.Name, of, strings.Join(requests, ", ")), Then: "the container starts without a device"})
		}
	}
}

// requestsOf are the names of what a claim of the bundle requests; of is empty if it is not the bundle's, or of
// another version than v1.
func (f *finder) requestsOf(namespace string, p *corev1.PodResourceClaim) (of string, requests []string) {
	for i := range f.e.Objects {
		o := &f.e.Objects[i]
		if o.Object.GetNamespace() != namespace || o.Object.GetAPIVersion() != resourcev1.SchemeGroupVersion.String() {
			continue
		}
		var devices []resourcev1.DeviceRequest
		switch name := o.Object.GetName(); {
		case o.Object.GetKind() == "ResourceClaim" && p.ResourceClaimName != nil && *p.ResourceClaimName == name:
			var claim resourcev1.ResourceClaim
			if !problem.Read(o, &claim) {
				continue
			}
			devices = claim.Spec.Devices.Requests
		case o.Object.GetKind() == "ResourceClaimTemplate" && p.ResourceClaimTemplateName != nil && *p.ResourceClaimTemplateName == name:
			var template resourcev1.ResourceClaimTemplate
			if !problem.Read(o, &template) {
				continue
			}
			devices = template.Spec.Spec.Devices.Requests
		default:
			continue
		}
		for _, d := range devices {
			requests = append(requests, d.Name)
		}
		return o.Ref().String(), requests
	}
	return "", nil
}
