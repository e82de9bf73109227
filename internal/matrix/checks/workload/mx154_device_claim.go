package workload

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var deviceClaimMissing = judge.Check{
	ID: "MX154", Name: "device-claim-missing", Needs: judge.Settled, Gives: reason.SchedulingFailed,
	Title: "The claims of devices that a pod names exist",
	Why:   "The scheduler places no pod whose ResourceClaim, or the template of it, does not exist (https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/). Of a workload without pods nothing shows it.",
	Fix:   "Add the claim or its template, or correct the name.",
	Says:  "claims devices by %s %s, which does not exist, and nothing in the recipe makes it", Then: "the scheduler does not place its pods",
	Run: func(s *judge.Scope) {
		d := &s.Live.Devices
		if !d.Read {
			return
		}
		for _, p := range s.Pods() {
			namespace := p.Object.Object.GetNamespace()
			missing := func(i int, field, kind, name string) {
				s.Report(p.Object, fmt.Sprintf("%s.resourceClaims[%d].%s", p.Path(), i, field), kind, infra.NamespacedName(namespace, name)).SetBy(name).
					OneCause(kind + namespace + "/" + name).Missing(result.Ref{Group: "resource.k8s.io", Kind: kind, Namespace: namespace, Name: name})
			}
			for i, c := range p.Template.Spec.ResourceClaims {
				switch {
				case c.ResourceClaimTemplateName != nil && d.Template(namespace, *c.ResourceClaimTemplateName) == nil:
					missing(i, "resourceClaimTemplateName", "ResourceClaimTemplate", *c.ResourceClaimTemplateName)
				case c.ResourceClaimName != nil && d.Claim(namespace, *c.ResourceClaimName) == nil:
					missing(i, "resourceClaimName", "ResourceClaim", *c.ResourceClaimName)
				}
			}
		}
	},
}
