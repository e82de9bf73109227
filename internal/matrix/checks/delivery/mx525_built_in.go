package delivery

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var builtIn = judge.Check{
	ID: "MX525", Name: "object-of-kubernetes-itself", Needs: judge.Served, Gives: reason.DeployFailed,
	Title: "No manifest is an object that Kubernetes makes itself",
	Why: "The API server makes roles and bindings when it starts (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings), and a cluster whose scheduler has lost its role works on here only by chance. " +
		"Charts have roles of their own whose names begin with system: (metrics-server does), so that the cluster is asked for those.",
	Fix:  "Leave it out, or give it another name.",
	Says: "is Kubernetes' own: %s", Then: "Helm refuses to take it over, and Argo CD and Flux replace it for the whole cluster: leave it out, or give it another name",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered() {
			if by := madeBy(s, o); by != "" {
				s.Report(o, "metadata.name", by).SetBy("")
			}
		}
	},
}

// madeBy says what makes an object; empty if that is the recipe alone.
func madeBy(s *judge.Scope, o *bundle.Object) string {
	const apiServer = "the API server makes it in every cluster"
	ref := o.Ref()
	if ref.Group == rbacv1.GroupName {
		if s.Live.Bootstrapped[ref] {
			return apiServer
		}
		return ""
	}
	switch strings.Trim(ref.Kind+" "+ref.Namespace, " ") + "/" + ref.Name {
	case "ConfigMap " + metav1.NamespaceSystem + "/extension-apiserver-authentication":
		return "the API server writes it in every cluster"
	case "Service " + metav1.NamespaceDefault + "/kubernetes":
		return apiServer
	}
	if ref.Group == "" && ref.Kind == "ConfigMap" && ref.Name == "kube-root-ca.crt" {
		return "the controller manager writes it into every namespace"
	}
	return ""
}
