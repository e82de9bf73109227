package workload

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var deviceClaimMissing = judge.Check{
	ID: "MX154", Name: "device-claim-missing", Needs: judge.Rendered, Until: judge.Settled, Gives: reason.SchedulingFailed,
	Title: "The claims of devices that a pod names exist",
	Why:   "The scheduler places no pod whose ResourceClaim, or the template of it, does not exist (https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/). Of a workload without pods nothing shows it.",
	Fix:   "Add the claim or its template, or correct the name.",
	Says:  "claims devices by %s %s, which does not exist, and nothing in the recipe makes it", Then: "the scheduler does not place its pods",
	Run: func(s *judge.Scope) {
		if s.Live != nil && !s.Live.Devices.Read {
			return
		}
		for _, p := range s.Pods() {
			namespace := p.Object.Object.GetNamespace()
			named := func(i int, field, kind string, name *string) {
				if name == nil {
					return
				}
				ref := result.Ref{Group: resourcev1.GroupName, Kind: kind, Namespace: namespace, Name: *name}
				if !s.Lacks(ref, p.Object.Ref()) {
					return
				}
				s.Report(p.Object, fmt.Sprintf("%s.resourceClaims[%d].%s", p.Path(), i, field), kind, infra.NamespacedName(namespace, *name)).SetBy(*name).
					OneCause(kind + namespace + "/" + *name).Missing(ref)
			}
			for i, c := range p.Template.Spec.ResourceClaims {
				named(i, "resourceClaimTemplateName", "ResourceClaimTemplate", c.ResourceClaimTemplateName)
				named(i, "resourceClaimName", "ResourceClaim", c.ResourceClaimName)
			}
		}
	},
}
