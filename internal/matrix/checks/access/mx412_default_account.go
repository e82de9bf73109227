package access

import "github.com/nvidia/aicr-action/internal/matrix/judge"

var defaultAccount = judge.Check{
	ID: "MX412", Name: "account-named-default", Needs: judge.Rendered, Kinds: judge.KindsOf("", "ServiceAccount"),
	Title: "A recipe does not bring the ServiceAccount default",
	Why: "The controller manager makes a ServiceAccount of that name in each namespace (https://kubernetes.io/docs/concepts/security/service-accounts/#default-service-accounts). " +
		"Helm does not adopt an object that is not its own, and other deployers change it.",
	Fix:  "Give the account another name, and name that in the pods (serviceAccountName).",
	Says: "is Kubernetes' own: the controller manager makes it in every namespace",
	Then: "Helm refuses to take it over, unless it is faster, and Argo CD and Flux replace it: name another one in the pods (serviceAccountName)",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "ServiceAccount")...) {
			if o.Object.GetName() == "default" {
				s.Report(o, "metadata.name")
			}
		}
	},
}
