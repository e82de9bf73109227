package facts

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// resources are the names of Kubernetes' own resources, by themselves and by the names of their kinds, in small letters.
var resources = sync.OnceValue(func() map[schema.GroupResource]string {
	all := map[schema.GroupResource]string{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, singular := meta.UnsafeGuessKindToResource(gvk)
		all[plural.GroupResource()] = plural.Resource
		if of := singular.GroupResource(); all[of] == "" {
			all[of] = plural.Resource
		}
	}
	return all
})

// Misspelled is the name of a resource of Kubernetes' own that a rule spells as its kind, e.g. pods for Pod; empty for
// a resource that is right, or of other groups.
func Misspelled(groups []string, resource string) (right string) {
	name, sub, _ := strings.Cut(resource, "/")
	for _, group := range groups {
		switch known := resources()[schema.GroupResource{Group: group, Resource: strings.ToLower(name)}]; known {
		case name:
			return ""
		case "":
		default:
			right = known
		}
	}
	if right != "" && sub != "" {
		right += "/" + sub
	}
	return right
}
