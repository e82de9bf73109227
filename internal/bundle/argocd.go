package bundle

import (
	"cmp"
	"fmt"
	"slices"
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

// checkApplicationNames: the roots and their children are in one namespace.
func checkApplicationNames(p *plan, roots ...string) error {
	for _, r := range p.releases {
		if root := r.Name; slices.Contains(roots, root) {
			return &ComponentError{Component: r.Component, Origin: r.component.Declared, Problem: fmt.Sprintf("its Application would have the name of the root Application, %s", root)}
		}
	}
	return nil
}

// expectApplications: the root, and an Application for each release. values says whether a release
// has its values from a second source.
func expectApplications(p *plan, root string, e *Expectation, values func(*release) bool) {
	expectHalves([]half{{"", root, p.releases}}, e, values)
}

// expectHalves is expectApplications for a bundle with a root for each half, which come first.
func expectHalves(halves []half, e *Expectation, values func(*release) bool) {
	ref := func(name string) result.Ref {
		return result.Ref{Group: "argoproj.io", Kind: "Application", Namespace: ArgoNamespace, Name: name}
	}
	e.Delivered = nil
	for _, h := range halves {
		e.Delivered = append(e.Delivered, Delivered{Ref: ref(h.root), Root: true})
	}
	for _, h := range halves {
		of := ""
		if h.class != "" {
			of = h.root
		}
		for _, r := range h.releases {
			// Its sync wave orders when it is made, and nothing waits for it.
			e.Delivered = append(e.Delivered, Delivered{Ref: ref(r.Name), Of: of, ValuesSource: values != nil && values(r)})
		}
	}
}

// argoHalves writes the roots of a bundle for argocd-oci or argocd-git and the charts in it, an Application for each release
// by app, which gets the directory of the half with a / at its end, and what must exist of them.
func argoHalves(p *plan, in Input, s *fileSet, e *Expectation, values func(*release) bool, app func(r *release, wave int, dir string) map[string]any) error {
	halves := p.halves(in)
	var roots []string
	for _, h := range halves {
		roots = append(roots, h.root)
	}
	if err := checkApplicationNames(p, roots...); err != nil {
		return err
	}
	if in.Split != nil {
		e.Releases = slices.Clone(e.Releases) // other lanes share the plan
		e.Overrides = append(slices.Clone(e.Overrides), fmt.Sprintf("split: %d components of core by Application %s and %d of ops by %s, with retry, and neither waits for the other", len(halves[0].releases), roots[0], len(halves[1].releases), roots[1]))
	}
	for _, h := range halves {
		if err := s.addYAML(h.place("app-of-apps.yaml"), argoRoot(in, h)); err != nil {
			return err
		}
		for i, r := range h.releases {
			if err := s.addYAML(h.place(r.Name+"/application.yaml"), retried(in, app(r, i, h.place("")))); err != nil {
				return err
			}
			if values != nil && values(r) {
				s.add(h.place(r.Name+"/values.yaml"), r.valuesYAML)
			}
			s.addDir(h.place(r.Name+"/chart"), r.files)
			if at := slices.IndexFunc(e.Releases, func(of Release) bool { return of.Name == r.Name }); at >= 0 && h.class != "" && r.Local {
				e.Releases[at].Given.Path = h.place(r.Name + "/chart")
			}
		}
	}
	expectHalves(halves, e, values)
	return nil
}
