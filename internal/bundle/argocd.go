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
	ArgoRootApplication = "nvidia-stack" // argocd-oci, argocd-git
	ArgoHelmApplication = "aicr-stack"   // argocd-helm-oci
)

// application is an argoproj.io/v1alpha1 Application in the namespace argocd, of the AppProject
// project ("" is default).
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
// local chart. Values are inline: an Application's $values references to another source work with
// Git only (gitApplication).
func childApplication(r *release, wave int, project, bundleURL, bundleRevision, path string) map[string]any {
	helm := map[string]any{"releaseName": r.Name}
	if !r.Local && len(r.values) > 0 {
		helm["valuesObject"] = r.values
	}
	source := map[string]any{"repoURL": bundleURL, "targetRevision": bundleRevision, "path": path}
	if !r.Local {
		source = remoteSource(r)
	}
	source["helm"] = helm
	return application(r.Name, r.Namespace, project, source, map[string]any{"argocd.argoproj.io/sync-wave": strconv.Itoa(wave)})
}

// remoteSource is the source of a release's chart in its repository.
func remoteSource(r *release) map[string]any {
	if r.oci() {
		// A chart in an OCI registry is an OCI source like any other to Argo CD: the repository is
		// the chart's, the path its root.
		ref, _ := r.ref()
		return map[string]any{"repoURL": ref, "targetRevision": r.Tag(), "path": "."}
	}
	return map[string]any{"repoURL": r.source, "targetRevision": r.ChartVersion, "chart": r.Chart}
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

// expectApplications: the root, and an Application for each release. values says whether a release
// has its values from a second source.
func expectApplications(p *plan, root string, e *Expectation, values func(*release) bool) {
	ref := func(name string) result.Ref {
		return result.Ref{Group: "argoproj.io", Kind: "Application", Namespace: ArgoNamespace, Name: name}
	}
	e.Delivered = []Delivered{{Ref: ref(root), Root: true}}
	for _, r := range p.releases {
		// Its sync wave orders when it is made, and nothing waits for it.
		e.Delivered = append(e.Delivered, Delivered{Ref: ref(r.Name), ValuesSource: values != nil && values(r)})
	}
}
