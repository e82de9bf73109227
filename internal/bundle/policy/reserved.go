package policy

// reserved.go names the objects that belong to the harness and its controllers. A recipe that
// delivered one would replace it, and so could change its own verdict. The package must not know
// clusters, or which component creates these objects.

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
)

// Names that the harness gives to its objects.
const (
	// ReservedPrefix is the prefix of the name of every cluster-scoped object of the harness, e.g. its
	// admission policies.
	ReservedPrefix = "aicr-action-"
	// RegistrySecret is Argo CD's login to the cell's registry. ChartRegistryPrefix is the prefix
	// of the names of its logins to chart registries.
	RegistrySecret      = "cell-registry"
	ChartRegistryPrefix = "chart-registry-"

	argocd, flux, argoproj = "argocd", "flux-system", "argoproj.io"
)

// WhyReserved says why a recipe may not deliver an object; empty if it may. The object's namespace is the
// one that it will have.
func WhyReserved(o *unstructured.Unstructured) string {
	gk := o.GroupVersionKind().GroupKind()
	name, namespace := o.GetName(), o.GetNamespace()
	switch {
	case gk.Group == "apiextensions.k8s.io":
		if owner := definitionOf(name); owner != "" {
			return "is " + owner + "'s own definition, which delivers the recipe"
		}
	case strings.HasPrefix(name, ReservedPrefix) && (strings.HasSuffix(gk.Group, ".k8s.io") || namespace == ""):
		return "has a name that this program keeps for its own objects (" + ReservedPrefix + "…)"
	case gk.Group == "apiregistration.k8s.io":
		// An APIService is called after its version and group: v1.source.toolkit.fluxcd.io.
		_, group, _ := strings.Cut(name, ".")
		if owner := ownerOf(group); owner != "" {
			return "would answer in place of the API server for the objects of " + owner + ", which delivers the recipe"
		}
		if scheme.Scheme.IsGroupRegistered(group) || group == gk.Group || group == "apiextensions.k8s.io" {
			return "would answer in place of the API server for Kubernetes' own objects, so that nothing in the cluster works any more"
		}
	case gk.Group == "kustomize.toolkit.fluxcd.io":
		return "would have Flux build another directory; it delivers the recipe by one Kustomization, which is the harness's"
	case gk.Group == "" && (gk.Kind == "ConfigMap" || gk.Kind == "Secret") && helmRecord(o):
		return "looks like Helm's own record of a release, from which Helm reads what is installed"
	case gk.Kind == "ExternalArtifact" && strings.HasSuffix(gk.Group, ".fluxcd.io"):
		return "is what a controller of Flux makes, and without one has no artifact for ever"
	case namespace == argocd && gk.Group == argoproj && gk.Kind == "ApplicationSet":
		return "would make Applications besides those of the bundle"
	case namespace == argocd && gk.Group == "" && (gk.Kind == "ConfigMap" || gk.Kind == "Secret"):
		if strings.HasPrefix(name, "argocd-") || name == RegistrySecret || strings.HasPrefix(name, ChartRegistryPrefix) {
			return "is a setting of the Argo CD that delivers the recipe"
		}
	case namespace == argocd && gk.Group == argoproj && gk.Kind == "AppProject":
		return "says what the Argo CD that delivers the recipe may do"
	case namespace == flux && gk.Group == "source.toolkit.fluxcd.io" && gk.Kind == "OCIRepository" && name == "aicr-bundle":
		return "is the source that Flux delivers the recipe from"
	}
	return ""
}

// helmRecord reports whether Helm would take an object for the record of a release, of whichever
// release: by its name and labels, whatever its type is (helm.sh/helm/v3/pkg/storage/driver).
func helmRecord(o *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(o.Object, "type")
	return strings.HasPrefix(kind, "helm.sh/release") || strings.HasPrefix(o.GetName(), "sh.helm.release.") || o.GetLabels()["owner"] == "helm" && o.GetLabels()["status"] != ""
}

// ownerOf returns the deployer that an API group belongs to; empty for those of others.
func ownerOf(group string) string {
	if group == argoproj {
		return "Argo CD"
	}
	return definitionOf("x." + group)
}

// The names of the deployers' own CustomResourceDefinitions. Other programs have some in Argo CD's
// group too, e.g. Argo Workflows. The admission policies have these expressions as they are.
const (
	ArgoCDDefinitions = `^(applications|applicationsets|appprojects)[.]argoproj[.]io$`
	FluxDefinitions   = `^[^.]+[.]([^.]+[.]toolkit|source[.]extensions)[.]fluxcd[.]io$`
)

var argocdDefinition, fluxDefinition = regexp.MustCompile(ArgoCDDefinitions), regexp.MustCompile(FluxDefinitions)

// definitionOf returns the deployer that a CustomResourceDefinition belongs to; empty for those of
// others.
func definitionOf(name string) string {
	switch {
	case argocdDefinition.MatchString(name):
		return "Argo CD"
	case fluxDefinition.MatchString(name):
		return "Flux"
	}
	return ""
}

// ReservedDefinitions selects from the names of CustomResourceDefinitions those that Why refuses.
func ReservedDefinitions(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return definitionOf(name) == "" })
}
