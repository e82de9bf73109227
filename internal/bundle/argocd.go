package bundle

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/nvidia/aicr-action/internal/result"
)

// The names of Argo CD's root Applications.
const (
	ArgoNamespace       = "argocd"
	ArgoRootApplication = "nvidia-stack" // argocd-oci
	ArgoHelmApplication = "aicr-stack"   // argocd-helm-oci
)

// application is an argoproj.io/v1alpha1 Application in the namespace argocd, of the AppProject
// project ("" is default). Values stay inline: an Application's $values references to another
// source work with Git only.
func application(name, namespace, project string, source, annotations map[string]any) map[string]any {
	meta := map[string]any{
		"name":      name,
		"namespace": ArgoNamespace,
		// Deleting the Application deletes what it deployed.
		"finalizers": []any{"resources-finalizer.argocd.argoproj.io"},
	}
	if annotations != nil {
		meta["annotations"] = annotations
	}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1",
		"kind":       "Application",
		"metadata":   meta,
		"spec": map[string]any{
			"project":     cmp.Or(project, "default"),
			"source":      source,
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": namespace},
			"syncPolicy": map[string]any{
				"automated":   map[string]any{"prune": true, "selfHeal": true},
				"syncOptions": []any{"CreateNamespace=true", "ServerSideApply=true"},
			},
		},
	}
}

// childApplication is the Application of one release. The bundle's own place and path are for a
// local chart.
func childApplication(r *release, wave int, project, bundleURL, bundleRevision, path string) map[string]any {
	helm := map[string]any{"releaseName": r.Name}
	if !r.Local && len(r.values) > 0 {
		helm["valuesObject"] = r.values
	}
	source := map[string]any{"helm": helm}
	switch {
	case r.Local:
		source["repoURL"], source["targetRevision"], source["path"] = bundleURL, bundleRevision, path
	case r.oci():
		// A chart in an OCI registry is an OCI source like any other to Argo CD: the repository is
		// the chart's, the path its root.
		ref, _ := r.ref()
		source["repoURL"], source["targetRevision"], source["path"] = ref, r.ChartVersion, "."
	default:
		source["repoURL"], source["targetRevision"], source["chart"] = r.source, r.ChartVersion, r.Chart
	}
	return application(r.Name, r.Namespace, project, source, map[string]any{"argocd.argoproj.io/sync-wave": strconv.Itoa(wave)})
}

// checkApplicationNames: the root and its children are in one namespace.
func checkApplicationNames(p *plan, root string) error {
	for _, r := range p.releases {
		if r.Name == root {
			return &ComponentError{Component: r.Component, Origin: r.component.Declared, Problem: fmt.Sprintf("its Application would have the name of the root Application, %s", root)}
		}
	}
	return nil
}

func expectApplications(p *plan, root string, e *Expectation) {
	ref := func(name string) result.Ref {
		return result.Ref{Group: "argoproj.io", Kind: "Application", Namespace: ArgoNamespace, Name: name}
	}
	e.Delivered = []Delivered{{Ref: ref(root), Root: true}}
	for _, r := range p.releases {
		// Its sync wave orders when it is made, and nothing waits for it.
		e.Delivered = append(e.Delivered, Delivered{Ref: ref(r.Name)})
	}
}
