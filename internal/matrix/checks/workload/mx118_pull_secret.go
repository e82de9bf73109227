package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var pullSecret = judge.Check{
	ID: "MX118", Name: "pull-secret-of-another-type", Needs: judge.Rendered, Until: judge.Settled,
	Title: "A Secret for pulling images has a login for a registry",
	Why:   "A kubelet reads the key .dockerconfigjson, or .dockercfg, and pulls without a login if there is none (https://kubernetes.io/docs/concepts/containers/images/#specifying-imagepullsecrets-on-a-pod).",
	Fix:   "Make the Secret of type kubernetes.io/dockerconfigjson.",
	Says:  "imagePullSecrets names Secret %s, which has no %s", Then: "a kubelet pulls without it, and fails if the registry wants a login",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for i, secret := range p.Template.Spec.ImagePullSecrets {
				full := infra.NamespacedName(p.Object.Object.GetNamespace(), secret.Name)
				keys := s.SecretKeys(result.Ref{Kind: "Secret", Namespace: p.Object.Object.GetNamespace(), Name: secret.Name}, p.Object.Ref())
				if len(keys) > 0 && !keys[corev1.DockerConfigJsonKey] && !keys[corev1.DockerConfigKey] && !slices.Contains(p.Template.Spec.ImagePullSecrets[:i], secret) {
					s.Report(p.Object, fmt.Sprintf("%s.imagePullSecrets[%d].name", p.Path(), i), full, corev1.DockerConfigJsonKey)
				}
			}
		}
	},
}
