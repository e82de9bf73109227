package workload

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var deviceRequest = judge.Check{
	ID: "MX121", Name: "device-request-not-in-claim", Needs: judge.Rendered, Kinds: judge.KindsOf(resourcev1.GroupName, "ResourceClaim", "ResourceClaimTemplate"),
	Title: "A container takes a request that its claim has",
	Why: "resources.claims[].request restricts a container to the devices of one request of the claim. The API server does not compare the two objects, and a kubelet hands over what is of that request: nothing " +
		"(https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/).",
	Fix:  "Name a request of the claim, or leave request out to have all.",
	Says: "container %s takes request %s of claim %s, and %s has no such request (it has %s)", Then: "the container starts without a device",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for _, c := range p.Containers() {
				for i, use := range c.Resources.Claims {
					j := slices.IndexFunc(p.Template.Spec.ResourceClaims, func(p corev1.PodResourceClaim) bool { return p.Name == use.Name })
					if use.Request == "" || j < 0 {
						continue
					}
					of, requests := requestsOf(s, p.Object.Object.GetNamespace(), &p.Template.Spec.ResourceClaims[j])
					base, _, _ := strings.Cut(use.Request, "/") // the rest is one of several that would do
					if of != "" && !slices.Contains(requests, base) {
						s.Report(p.Object, fmt.Sprintf("%s.resources.claims[%d].request", c.Path, i), c.Name, use.Request, use.Name, of, strings.Join(requests, ", "))
					}
				}
			}
		}
	},
}

// requestsOf are the names of what a claim of the bundle requests; of is empty if it is not the bundle's, or of
// another version than v1.
func requestsOf(s *judge.Scope, namespace string, p *corev1.PodResourceClaim) (of string, requests []string) {
	kind, name := "ResourceClaim", p.ResourceClaimName
	if name == nil {
		kind, name = "ResourceClaimTemplate", p.ResourceClaimTemplateName
	}
	if name == nil {
		return "", nil
	}
	o := s.Find(judge.KindsOf(resourcev1.GroupName, kind)[0], namespace, *name)
	if o == nil || o.Object.GetAPIVersion() != resourcev1.SchemeGroupVersion.String() {
		return "", nil
	}
	var devices []resourcev1.DeviceRequest
	if kind == "ResourceClaim" {
		if claim := facts.As[resourcev1.ResourceClaim](s.Index, o); claim != nil {
			devices = claim.Spec.Devices.Requests
		}
	} else if template := facts.As[resourcev1.ResourceClaimTemplate](s.Index, o); template != nil {
		devices = template.Spec.Spec.Devices.Requests
	}
	for _, d := range devices {
		requests = append(requests, d.Name)
	}
	return o.Ref().String(), requests
}
