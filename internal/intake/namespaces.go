package intake

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// UserAppNamespace is a namespace in which a user's repository has something.
type UserAppNamespace struct {
	Of   result.Ref
	At   recipe.Origin
	Name string
	// Creates: the deployer creates it. Else it has to exist, and Else says what makes that so, for
	// people who look at a cluster without it.
	Creates bool
	Else    string
}

// EveryCluster reports whether each cluster has a namespace, or each with the controllers of a lane.
func EveryCluster(namespace string) bool {
	return slices.Contains([]string{"", "default", "kube-system", "kube-public", "kube-node-lease", bundle.ArgoNamespace, bundle.FluxNamespace}, namespace)
}

// withoutNamespace are the objects whose namespace nothing creates: neither an object that is delivered, nor a
// deployer for another release.
func (l *UserAppExtra) withoutNamespace(e *bundle.Expectation) []argoapi.Refusal {
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
	for _, n := range l.Namespaces {
		made[n.Name] = made[n.Name] || n.Creates
	}
	var all []argoapi.Refusal
	for _, n := range l.Namespaces {
		if made[n.Name] || EveryCluster(n.Name) {
			continue
		}
		// Argo CD needs the namespace of an Application for the objects in it only, Helm for its own record.
		if n.Of.Kind == "Application" && !slices.ContainsFunc(e.Objects, func(o bundle.Object) bool { return o.Release == n.Of.Name && o.Object.GetNamespace() == n.Name }) {
			continue
		}
		all = append(all, argoapi.Refusal{Of: n.Of, At: n.At, Text: fmt.Sprintf("needs the namespace %s, which nothing here creates", n.Name), Then: n.Else})
	}
	return all
}
