package bundle

import (
	"context"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/render"
)

// HelmTemplate renders the charts and applies the manifests: `helm template` and `kubectl apply
// --server-side`. It is not one of AICR's deployers.
const HelmTemplate = "helm-template"

// The files of a release in a helm-template bundle, in the order in which they are applied. A file
// without an object is left out.
const (
	TemplateNamespace = "namespace.yaml"
	TemplateCRDs      = "crds.yaml"
	TemplateManifests = "manifests.yaml"
)

// TemplateManager is the field manager that applies the objects of a release. Each release has its
// own, so that the API server rejects an object that two releases set differently.
func TemplateManager(releaseName string) string { return HelmTemplate + "/" + releaseName }

// helmTemplate makes a directory per release with the manifests that its chart renders, and
// apply.sh, which applies them in order.
type helmTemplate struct{}

var _ Deployer = helmTemplate{}

func (helmTemplate) Name() string { return HelmTemplate }

func (d helmTemplate) Bundle(ctx context.Context, in Input) (*Bundle, error) {
	return build(ctx, in, d.Name(), func(p *plan, in Input, s *fileSet, e *Expectation) error {
		renderer := &render.Renderer{}
		defer renderer.Close()
		kinds := rendering.CustomScopes{}
		for _, o := range e.Objects {
			kinds.Add(o.Object)
		}
		for _, r := range p.releases {
			if err := s.addYAML(r.Name+"/"+TemplateNamespace, map[string]any{
				"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": r.Namespace},
			}); err != nil {
				return err
			}
			crds, manifests, err := rendering.Files(ctx, renderer, r.request(r.values, in.KubeVersion, r.apis), kinds)
			if err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return renderError(r, err)
			}
			for name, content := range map[string][]byte{TemplateCRDs: crds, TemplateManifests: manifests} {
				if len(content) > 0 {
					s.add(r.Name+"/"+name, content)
				}
			}
		}
		return s.addTemplate("apply.sh", 0o755, "apply.sh.tmpl", map[string]any{"Recipe": RecipeName(in.Recipe), "Releases": e.Releases})
	})
}
