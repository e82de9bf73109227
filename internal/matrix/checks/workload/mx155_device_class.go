package workload

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var deviceClaims = judge.KindsOf(resourcev1.GroupName, "ResourceClaim", "ResourceClaimTemplate")

var deviceClassMissing = judge.Check{
	ID: "MX155", Name: "device-class-missing", Needs: judge.Rendered, Until: judge.Settled, Kinds: deviceClaims, Gives: reason.SchedulingFailed,
	Title: "The DeviceClass of a claim exists",
	Why:   "Each request of a claim is for devices of a class (https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#deviceclass), and is never allocated without it. Of alternatives, the only one counts.",
	Fix:   "Install the driver that brings the class, or correct deviceClassName.",
	Says:  "claims a device of DeviceClass %s, which does not exist, and nothing in the recipe installs it", Then: "the scheduler allocates no device for it",
	Run: func(s *judge.Scope) {
		if s.Live != nil && !s.Live.Devices.Read {
			return
		}
		for _, o := range s.Rendered(deviceClaims...) {
			// Only v1's fields are known; another version's request has none of them.
			spec, path := claimSpec(s, o)
			for i := range spec.Devices.Requests {
				r, name := &spec.Devices.Requests[i], ""
				field := fmt.Sprintf("%s.devices.requests[%d].", path, i)
				if r.Exactly != nil {
					name, field = r.Exactly.DeviceClassName, field+"exactly.deviceClassName"
				} else if len(r.FirstAvailable) == 1 {
					name, field = r.FirstAvailable[0].DeviceClassName, field+"firstAvailable[0].deviceClassName"
				}
				ref := result.Ref{Group: resourcev1.GroupName, Kind: "DeviceClass", Name: name}
				if name != "" && s.Lacks(ref, o.Ref()) {
					s.Report(o, field, name).OneCause(name).Missing(ref)
				}
			}
		}
	},
}

// claimSpec is the claim of an object, or of the template that it is.
func claimSpec(s *judge.Scope, o *bundle.Object) (spec resourcev1.ResourceClaimSpec, path string) {
	if o.Object.GetKind() == "ResourceClaim" {
		if c := facts.As[resourcev1.ResourceClaim](s.Index, o); c != nil {
			spec = c.Spec
		}
		return spec, "spec"
	}
	if t := facts.As[resourcev1.ResourceClaimTemplate](s.Index, o); t != nil {
		spec = t.Spec.Spec
	}
	return spec, "spec.spec"
}
