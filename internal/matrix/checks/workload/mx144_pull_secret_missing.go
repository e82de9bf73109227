package workload

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var pullSecretMissing = judge.Check{
	ID: "MX144", Name: "pull-secret-missing", Needs: judge.Rendered, Until: judge.Settled,
	Title: "The Secrets for pulling images of a pod exist",
	Why:   "A kubelet leaves out a pull secret that does not exist, and pulls without a login (https://kubernetes.io/docs/concepts/containers/images/#specifying-imagepullsecrets-on-a-pod).",
	Fix:   "Add the Secret to the recipe, or make it before.",
	Says:  "imagePullSecrets names Secret %s, which does not exist", Then: "a kubelet pulls without it, and fails if the registry wants a login",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			namespace := p.Object.Object.GetNamespace()
			for i, secret := range p.Template.Spec.ImagePullSecrets {
				full := infra.NamespacedName(namespace, secret.Name)
				if secret.Name == "" || !s.Lacks(result.Ref{Kind: facts.NeedSecret, Namespace: namespace, Name: secret.Name}, p.Object.Ref()) {
					continue
				}
				if m := s.MadeAtRunTime(facts.NeedSecret, namespace, secret.Name, p.Object.Ref()); m != nil {
					s.Unverified(p.Object, "Secret "+full, "is made at run time by "+m.By, "may not pull its images", "may not pull their images")
					continue
				}
				s.Report(p.Object, fmt.Sprintf("%s.imagePullSecrets[%d].name", p.Path(), i), full).SetBy(secret.Name)
			}
		}
	},
}
