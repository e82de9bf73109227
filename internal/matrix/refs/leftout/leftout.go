// Package leftout finds the objects of a bundle that Argo CD never applies.
package leftout

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/excluded"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// requests are the groups whose objects are requests, of which no API server stores anything: a fault
// in every lane.
var requests = map[string]bool{"authentication.k8s.io": true, "authorization.k8s.io": true}

// Find returns the objects of kinds that Argo CD excludes: its Application says so in a warning, and
// is Synced and Healthy without them.
func Find(e *bundle.Expectation) []problem.Problem {
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		how := excluded.Of(o.Object.GroupVersionKind().GroupKind())
		if how == excluded.Not || requests[o.Object.GroupVersionKind().Group] {
			continue // a request, e.g. a SubjectAccessReview, is one in every lane
		}
		p := problem.Of(o)
		p.Reason, p.Cause = reason.DeployFailed, "excluded "+p.From.String()
		p.Text = fmt.Sprintf("is of a kind that Argo CD excludes %s, so that it never applies it", how)
		p.Then = "its Application is Synced and Healthy without it: let a program of the recipe create it"
		if how == excluded.Default {
			p.Then += ", or take the kind out of resource.exclusions in your Argo CD and run the recipe in other lanes"
		}
		found = append(found, p)
	}
	return found
}
