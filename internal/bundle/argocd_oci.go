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
		if err := checkApplicationNames(p, ArgoRootApplication); err != nil {
			return err
		}
		if err := s.addYAML("app-of-apps.yaml", argoRoot(in)); err != nil {
			return err
		}
		for i, r := range p.releases {
			app := childApplication(r, i, in.Project, in.RepoURL, in.TargetRevision, r.Name+"/chart")
			if err := s.addYAML(r.Name+"/application.yaml", app); err != nil {
				return err
			}
			s.addDir(r.Name+"/chart", r.files)
		}
		expectApplications(p, ArgoRootApplication, e, nil)
		return nil
	})
}

// ArgoRoot is the root Application of an argocd-oci bundle, as in its app-of-apps.yaml: the one
// object that is applied.
func ArgoRoot(in Input) *unstructured.Unstructured {
	if in.TargetRevision == "" {
		in.TargetRevision = Tag(ArgoCDOCI, Revision(in))
	}
	return &unstructured.Unstructured{Object: argoRoot(in)}
}

func argoRoot(in Input) map[string]any {
	return application(ArgoRootApplication, ArgoNamespace, in.Project, map[string]any{
		"repoURL":        in.RepoURL,
		"targetRevision": in.TargetRevision,
		"path":           ".",
		"directory": map[string]any{
			"recurse": true,
			"include": "*/application.yaml",
			// In Argo CD's globs a * also matches slashes, so without this a manifest of a local
			// chart that is called application.yaml would be taken for one of the Applications.
			"exclude": "*/chart/*",
		},
	}, nil)
}
