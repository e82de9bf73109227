package argoapi

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle/apis"
)

// AppSetProject is an AppProject that permits only what the releases deliver: their sources, the
// namespaces of their objects, and their cluster-scoped kinds. It permits all clusters, since the
// ApplicationSet selects them by label. Without objects, because no chart was rendered, namespaces
// and kinds are unknown.
func AppSetProject(releases []AppSetRelease, objects []*unstructured.Unstructured) map[string]any {
	sources, namespaces := map[string]bool{}, map[string]bool{}
	kinds := map[string]bool{"/Namespace": true} // CreateNamespace=true makes the releases' own
	for _, r := range releases {
		sources[r.RepoURL], namespaces[r.Namespace] = true, true
	}
	if len(objects) == 0 {
		kinds, namespaces = map[string]bool{"*/*": true}, map[string]bool{"*": true}
	}
	for gk := range beyondNamespaces(objects) {
		kinds[gk.Group+"/"+gk.Kind] = true
	}
	for _, o := range objects {
		if ns := o.GetNamespace(); ns != "" {
			namespaces[ns] = true
		}
	}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
		"metadata": map[string]any{"name": AppSetName, "namespace": namespace},
		"spec": map[string]any{
			"description":  "What the recipe delivers: its sources, namespaces and cluster-scoped kinds, and no others.",
			"sourceRepos":  each(sources, func(s string) any { return s }),
			"destinations": each(namespaces, func(ns string) any { return map[string]any{"server": "*", "namespace": ns} }),
			"clusterResourceWhitelist": each(kinds, func(gk string) any {
				group, kind, _ := strings.Cut(gk, "/")
				return map[string]any{"group": group, "kind": kind}
			}),
		},
	}
}

func each(set map[string]bool, entry func(string) any) []any {
	var list []any
	for _, k := range slices.Sorted(maps.Keys(set)) {
		list = append(list, entry(k))
	}
	return list
}

// beyondNamespaces are the kinds of objects that are cluster-scoped, or may be: a custom resource
// whose definition is not among the objects has a scope that only the cluster knows. For a
// namespaced kind the permission says nothing.
func beyondNamespaces(objects []*unstructured.Unstructured) map[schema.GroupKind]bool {
	defined := map[schema.GroupKind]bool{}
	for _, o := range objects {
		if gk := apis.DefinedBy(o); !gk.Empty() {
			defined[gk] = true
		}
	}
	kinds := map[schema.GroupKind]bool{}
	for _, o := range objects {
		gk := o.GroupVersionKind().GroupKind()
		custom := strings.Contains(gk.Group, ".") && !strings.HasSuffix(gk.Group, ".k8s.io")
		if o.GetNamespace() == "" || custom && !defined[gk] {
			kinds[gk] = true
		}
	}
	return kinds
}
