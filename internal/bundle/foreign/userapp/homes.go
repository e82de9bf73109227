package userapp

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/projects"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Home is a namespace in which a user's repository has something.
type Home struct {
	Of        result.Ref
	At        recipe.Origin
	Namespace string
	// Creates: the deployer creates it. Else it has to exist, and Else says what makes that so, for
	// people who look at a cluster without it.
	Creates bool
	Else    string
}

// EveryCluster reports whether each cluster has a namespace, or each with the controllers of a lane.
func EveryCluster(namespace string) bool {
	return slices.Contains([]string{"", "default", "kube-system", "kube-public", "kube-node-lease", bundle.ArgoNamespace, bundle.FluxNamespace}, namespace)
}

// homeless are the objects whose namespace nothing creates: neither an object that is delivered, nor a
// deployer for another release.
func (l *Extra) homeless(e *bundle.Expectation) []projects.Refusal {
	made := map[string]bool{}
	note := func(o *unstructured.Unstructured) {
		if o.GetKind() == "Namespace" && o.GroupVersionKind().Group == "" {
			made[o.GetName()] = true
		}
	}
	for i := range e.Objects {
		note(e.Objects[i].Object)
	}
	for _, o := range e.Applied {
		note(o)
	}
	for _, h := range l.Homes {
		made[h.Namespace] = made[h.Namespace] || h.Creates
	}
	var all []projects.Refusal
	for _, h := range l.Homes {
		if h.Creates || made[h.Namespace] || EveryCluster(h.Namespace) {
			continue
		}
		// Argo CD needs the namespace of an Application for the objects in it only, Helm for its own record.
		if h.Of.Kind == "Application" && !slices.ContainsFunc(e.Objects, func(o bundle.Object) bool { return o.Release == h.Of.Name && o.Object.GetNamespace() == h.Namespace }) {
			continue
		}
		all = append(all, projects.Refusal{Of: h.Of, At: h.At, Text: fmt.Sprintf("needs the namespace %s, which nothing here creates", h.Namespace), Then: h.Else})
	}
	return all
}
