package lane

import (
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

// Deliverers returns the names of the deployer's own objects. AICR decides their form, so that a
// warning about it says nothing about the recipe.
func Deliverers(e *bundle.Expectation) []string {
	var all []string
	for _, d := range e.Delivered {
		all = append(all, d.Kind+" "+infra.NamespacedName(d.Namespace, d.Name))
	}
	return all
}
