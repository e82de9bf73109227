// Package reserved names the objects that the harness and its controllers keep for themselves: a
// recipe that delivered one would replace it, and with it what judges the recipe. It must not know
// clusters, or who makes these objects.
package reserved

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Names that the harness gives to its objects.
const (
	// Prefix begins the name of every cluster-scoped object of the harness, e.g. its admission
	// policies.
	Prefix = "aicr-action-"
	// RegistrySecret is Argo CD's login to the cell's registry; ChartRegistryPrefix begins the
	// names of those of chart registries.
	RegistrySecret      = "cell-registry"
	ChartRegistryPrefix = "chart-registry-"

	argocd, flux = "argocd", "flux-system"
)

// Why says why a recipe may not deliver an object; empty if it may. The object's namespace is the
// one that it will have.
func Why(o *unstructured.Unstructured) string {
	gk := o.GroupVersionKind().GroupKind()
	name, namespace := o.GetName(), o.GetNamespace()
	switch {
	case gk.Group == "apiextensions.k8s.io":
		if owner := definitionOf(name); owner != "" {
			return "is " + owner + "'s own definition, which delivers the recipe"
		}
	case strings.HasPrefix(name, Prefix) && (strings.HasSuffix(gk.Group, ".k8s.io") || namespace == ""):
		return "has a name that this program keeps for its own objects (" + Prefix + "…)"
	case namespace == argocd && gk.Group == "" && (gk.Kind == "ConfigMap" || gk.Kind == "Secret"):
		if strings.HasPrefix(name, "argocd-") || name == RegistrySecret || strings.HasPrefix(name, ChartRegistryPrefix) {
			return "is a setting of the Argo CD that delivers the recipe"
		}
	case namespace == argocd && gk.Group == "argoproj.io" && gk.Kind == "AppProject" && name == "default":
		return "says what the Argo CD that delivers the recipe may do"
	case namespace == flux && gk.Group == "source.toolkit.fluxcd.io" && gk.Kind == "OCIRepository" && name == "aicr-bundle":
		return "is the source that Flux delivers the recipe from"
	}
	return ""
}

// definitionOf returns the deployer that a CustomResourceDefinition belongs to; empty for those of
// others, e.g. of Argo Workflows, whose group is Argo CD's too.
func definitionOf(name string) string {
	kind, group, _ := strings.Cut(name, ".")
	switch {
	case group == "argoproj.io" && slices.Contains([]string{"applications", "applicationsets", "appprojects"}, kind):
		return "Argo CD"
	case strings.HasSuffix(group, ".toolkit.fluxcd.io") || group == "source.extensions.fluxcd.io":
		return "Flux"
	}
	return ""
}

// Definitions selects from the names of CustomResourceDefinitions those that Why refuses.
func Definitions(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return definitionOf(name) == "" })
}
