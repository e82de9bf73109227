// Package leftout finds the objects of a bundle that Argo CD or Flux never applies.
package leftout

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/excluded"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// requests are the groups whose objects are requests, of which no API server stores anything: a fault
// in every lane.
var requests = map[string]bool{"authentication.k8s.io": true, "authorization.k8s.io": true}

// noHook returns the value of an annotation that makes a hook of an object, and that is no phase in
// which it would run. Without one of its own, Argo CD takes Helm's.
func noHook(annotations map[string]string) (text string, ok bool) {
	text, ok = annotations[rendering.ArgoHook]
	own, _ := rendering.ArgoHooks(annotations)
	return text, ok && !own && annotations[rendering.HelmHook] == ""
}

// In returns what the lane's deployer never applies.
func In(e *bundle.Expectation, argocd, flux bool) []problem.Problem {
	switch {
	case argocd:
		return Find(e)
	case flux:
		return Definitions(e)
	}
	return nil
}

// Find returns the objects of kinds that Argo CD excludes: its Application says so in a warning, and
// is Synced and Healthy without them. So it is without hooks that are misspelt.
func Find(e *bundle.Expectation) []problem.Problem {
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		if text, ok := noHook(o.Object.GetAnnotations()); ok {
			p := problem.Of(o)
			p.Reason, p.Cause, p.Name = reason.DeployFailed, "no hook "+p.From.String(), rendering.ArgoHook
			p.Text = fmt.Sprintf("has %s: %q, which is none of %s, so that Argo CD never applies it", rendering.ArgoHook, text, strings.Join(rendering.ArgoPhases(), ", "))
			p.Then = "Argo CD takes it for a hook, and runs it in no phase: write one of these, or remove the annotation"
			found = append(found, p)
			continue
		}
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

// Definitions returns what a chart has in crds/ that is no definition. Flux applies nothing else from there,
// and says nothing of it; Helm and Argo CD create it.
func Definitions(e *bundle.Expectation) []problem.Problem {
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		if !o.InCRDs() || o.Object.GetKind() == "CustomResourceDefinition" {
			continue
		}
		p := problem.Of(o)
		p.Reason, p.Cause = reason.DeployFailed, "in crds/ "+p.From.String()
		p.Text = "is in the chart's crds/, of which Flux applies CustomResourceDefinitions alone"
		p.Then = "its HelmRelease is Ready without it: move it to the chart's templates"
		found = append(found, p)
	}
	return found
}
