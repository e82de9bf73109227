package delivery

import (
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// requests are the groups whose objects are requests, of which no API server stores anything: a fault
// in every lane.
var requests = map[string]bool{"authentication.k8s.io": true, "authorization.k8s.io": true}

var excludedKind = judge.Check{
	ID: "MX555", Name: "argocd-excludes-kind", Needs: judge.Rendered, Gives: reason.DeployFailed,
	Title: "Argo CD applies objects of the kind",
	Why: "Argo CD leaves out what resource.exclusions in its settings has, by default e.g. EndpointSlices and Leases. Its Application says so in a warning, and is Synced and Healthy without them " +
		"(https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#resource-exclusioninclusion). A note in the lanes of other deployers.",
	Fix:  "Let a program of the recipe create the object.",
	Says: "is of a kind that Argo CD excludes %s, so that it never applies it", Then: "its Application is Synced and Healthy without it: let a program of the recipe create it",
	Others: map[string]judge.Message{"default": {
		Says: "is of a kind that Argo CD excludes %s, so that it never applies it",
		Then: "its Application is Synced and Healthy without it: let a program of the recipe create it, or take the kind out of resource.exclusions in your Argo CD and run the recipe in other lanes",
	}},
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			kind := o.Object.GroupVersionKind().GroupKind()
			how := argoapi.ExclusionOf(kind)
			if _, other := noHook(o.Object.GetAnnotations()); other || how == argoapi.NotExcluded || requests[kind.Group] {
				continue // a request, e.g. a SubjectAccessReview, is one in every lane
			}
			message := ""
			if how == argoapi.DefaultExclusions {
				message = "default"
			}
			if found := s.ReportAs(message, o, "kind", how).SetBy("").OneCause(o.Ref().String()); !s.Order.ArgoCD {
				found.Note() // for the day on which another lane delivers it
			}
		}
	},
}
