package delivery

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var requestOnly = judge.Check{
	ID: "MX516", Name: "request-as-manifest", Needs: judge.Rendered, Gives: reason.DeployFailed,
	Title: "No manifest is a request",
	Why: "The API server answers a SubjectAccessReview, a TokenReview, a Binding or an Eviction and stores nothing " +
		"(https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access), so that a deployer that looks for what it has delivered finds nothing.",
	Fix:  "Leave it out, or let a program of the recipe make it.",
	Says: "is a request, of which the API server stores nothing", Then: "no deployer finds it afterwards: leave it out, or let a program of the recipe make it",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered() {
			group, kind := o.Object.GroupVersionKind().Group, o.Object.GetKind()
			if group == "authorization.k8s.io" && strings.HasSuffix(kind, "Review") || group == "authentication.k8s.io" ||
				group == "" && kind == "Binding" || group == "policy" && kind == "Eviction" {
				s.Report(o, "")
			}
		}
	},
}
