package access

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var tokenOfNobody = judge.Check{
	ID: "MX416", Name: "token-of-no-account", Needs: judge.Rendered, Kinds: judge.KindsOf("", "Secret"), Gives: reason.DeployFailed,
	Title: "The ServiceAccount of a token exists",
	Why: "The controller manager fills a Secret of type kubernetes.io/service-account-token, and deletes one whose ServiceAccount does not exist " +
		"(https://kubernetes.io/docs/concepts/security/service-accounts/#authenticating-credentials). A deployer then finds it missing.",
	Fix:  "Add the ServiceAccount, or correct its name in the annotation.",
	Says: "is for the token of ServiceAccount %s, which nothing in the recipe makes", Then: "Kubernetes deletes it as soon as it is created",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "Secret")...) {
			kind, _, _ := unstructured.NestedString(o.Object.Object, "type")
			name, namespace := o.Object.GetAnnotations()[corev1.ServiceAccountNameKey], o.Object.GetNamespace()
			if kind != string(corev1.SecretTypeServiceAccountToken) || name == "" || name == "default" ||
				s.Find(judge.KindsOf("", "ServiceAccount")[0], namespace, name) != nil || s.MadeAtRunTime("ServiceAccount", namespace, name, o.Ref()) != nil {
				continue
			}
			s.Report(o, `metadata.annotations["`+corev1.ServiceAccountNameKey+`"]`, infra.NamespacedName(namespace, name))
		}
	},
}
