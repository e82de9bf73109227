package policy

// refused.go says which objects a recipe may not deliver. It must not know recipes or clusters.

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// WhyRefused says why a recipe may not deliver an object, and which field is the reason, if one is: it is one
// of the harness's, it is of Argo CD or Flux and has a field that no bundle needs, or it has a quantity
// that cannot be read. Empty if it may.
func WhyRefused(o *unstructured.Unstructured) (problem string, field []string) {
	if problem = WhyReserved(o); problem != "" {
		return problem, nil
	}
	if err := Check(o.GetKind(), o.Object); err != nil {
		return "sets " + err.Error(), nil
	}
	path, amount := unreadable(o)
	if path == nil {
		return "", nil
	}
	return fmt.Sprintf("has a quantity of more than a thousand digits, %s: %s, which the API server cannot read", strings.Join(path, "."), amount), path
}
