package access

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var accountPullSecret = judge.Check{
	ID: "MX411", Name: "account-pull-secret-missing", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf("", "ServiceAccount"),
	Title: "The Secrets for pulling images of a ServiceAccount exist",
	Why: "Pods get the imagePullSecrets of their ServiceAccount (https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/#add-imagepullsecrets-to-a-service-account), " +
		"and a kubelet leaves out a Secret that does not exist.",
	Fix:  "Add the Secret to the recipe, or make it before.",
	Says: "imagePullSecrets names Secret %s, which does not exist", Then: "a kubelet pulls without it for the pods of the account, and fails if the registry wants a login",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "ServiceAccount")...) {
			a := facts.As[corev1.ServiceAccount](s.Index, o)
			if a == nil {
				continue
			}
			for i, secret := range a.ImagePullSecrets {
				ref := result.Ref{Kind: "Secret", Namespace: a.Namespace, Name: secret.Name}
				if secret.Name != "" && s.Lacks(ref, o.Ref()) {
					s.Report(o, fmt.Sprintf("imagePullSecrets[%d].name", i), infra.NamespacedName(a.Namespace, secret.Name)).Missing(ref)
				}
			}
		}
	},
}
