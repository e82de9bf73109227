package bundle

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// argoOCI makes a root Application and an Application per release, to be published together as one
// OCI artifact.
type argoOCI struct{}

var _ Deployer = argoOCI{}

func (argoOCI) Name() string { return ArgoCDOCI }

func (d argoOCI) Bundle(ctx context.Context, in Input) (*Bundle, error) {
	return build(ctx, in, d.Name(), func(p *plan, in Input, s *fileSet, e *Expectation) error {
		if err := needOCI(in); err != nil {
			return err
		}
		return argoHalves(p, in, s, e, nil, func(r *release, wave int, dir string) map[string]any {
			return childApplication(r, wave, in.Project, in.RepoURL, in.TargetRevision, dir+r.Name+"/chart")
		})
	})
}

// ArgoRoots are the root Applications of an argocd-oci or argocd-git bundle, as in its app-of-apps.yaml: the one
// object that is applied, or one for each class of a split bundle.
func ArgoRoots(in Input) (roots []*unstructured.Unstructured) {
	if in.TargetRevision == "" {
		in.TargetRevision = Tag(ArgoCDOCI, Revision(in))
	}
	for _, h := range rootsOf(in) {
		roots = append(roots, &unstructured.Unstructured{Object: argoRoot(in, h)})
	}
	return roots
}

func argoRoot(in Input, h half) map[string]any {
	return retried(in, application(h.root, ArgoNamespace, in.Project, map[string]any{
		"repoURL":        in.RepoURL,
		"targetRevision": in.TargetRevision,
		"path":           h.path(),
		"directory": map[string]any{
			"recurse": true,
			"include": "*/application.yaml",
			// In Argo CD's globs a * also matches slashes, so without this a manifest of a local
			// chart that is called application.yaml would be taken for one of the Applications.
			"exclude": "*/chart/*",
		},
	}, nil))
}
