package bundle

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/nvidia/aicr-action/internal/bundle/documents"
	"github.com/nvidia/aicr-action/internal/bundle/scopes"
	"github.com/nvidia/aicr-action/internal/charts/archive"
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
		kinds := scopes.Custom{}
		for _, o := range e.Objects {
			kinds.Add(o.Object)
		}
		for _, r := range p.releases {
			if err := s.addYAML(r.Name+"/"+TemplateNamespace, map[string]any{
				"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": r.Namespace},
			}); err != nil {
				return err
			}
			crds, manifests, err := templateFiles(ctx, renderer, r, in.KubeVersion, kinds)
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

// templateFiles renders a release: its CRDs, wherever the chart has them, and the rest in the order
// in which Helm creates it, hooks that run at installation included. A hook is applied like any
// other object: kubectl neither waits for it nor deletes it.
func templateFiles(ctx context.Context, renderer *render.Renderer, r *release, kubeVersion string, kinds scopes.Custom) (crds, manifests []byte, err error) {
	texts, err := templateTexts(ctx, renderer, r, kubeVersion)
	if err != nil {
		return nil, nil, err
	}
	var definitions, others bytes.Buffer
	for _, t := range texts {
		split := releaseutil.SplitManifests(t.manifest)
		keys := make([]string, 0, len(split))
		for k := range split {
			keys = append(keys, k)
		}
		sort.Sort(releaseutil.BySplitManifestsOrder(keys))
		for _, k := range keys {
			// The split takes the line break at a document's end, which belongs to the text of a
			// literal block that stands there.
			doc, source := split[k]+"\n", t.template
			if m := sourceComment.FindStringSubmatch(doc); m != nil {
				source = strings.TrimSpace(m[1])
			}
			if documents.IsCRD(doc) { // as it stands: Parse keeps the head of a definition only
				writeManifest(&definitions, source, []byte(strings.TrimSpace(sourceComment.ReplaceAllLiteralString(doc, ""))+"\n"))
				continue
			}
			objs, err := documents.Parse(doc)
			if err != nil {
				return nil, nil, &templateError{source, err}
			}
			for _, o := range objs {
				kinds.FillNamespace(o, r.Namespace)
				text, err := marshal(o.Object)
				if err != nil {
					return nil, nil, &templateError{source, err}
				}
				to := &others
				if o.GetKind() == "CustomResourceDefinition" { // out of a List
					to = &definitions
				}
				writeManifest(to, source, text)
			}
		}
	}
	return definitions.Bytes(), others.Bytes(), nil
}

func writeManifest(b *bytes.Buffer, source string, text []byte) {
	_, _ = fmt.Fprintf(b, "---\n# Source: %s\n", source) // a buffer does not fail
	b.Write(text)
}

// templateText is a piece of a rendering; template is where it comes from if it does not say so
// itself.
type templateText struct{ template, manifest string }

// templateTexts are what Helm would create of a release, in Helm's order: crds/, hooks before the
// installation, manifests, hooks after it.
func templateTexts(ctx context.Context, renderer *render.Renderer, r *release, kubeVersion string) ([]templateText, error) {
	c := archive.Clone(r.chart)
	if err := chartutil.ProcessDependenciesWithMerge(c, copyMap(r.values)); err != nil {
		return nil, err
	}
	var texts []templateText
	for _, crd := range c.CRDObjects() {
		texts = append(texts, templateText{crd.Filename, string(crd.File.Data)})
	}
	rel, err := runTemplate(ctx, renderer, r, r.values, kubeVersion, r.apis)
	if err != nil {
		return nil, err
	}
	before, after := []*helmrelease.Hook{}, []*helmrelease.Hook{}
	for _, h := range rel.Hooks {
		switch {
		case slices.Contains(h.Events, helmrelease.HookPreInstall):
			before = append(before, h)
		case runsAtInstall(h):
			after = append(after, h)
		}
	}
	texts = append(texts, hookTexts(before)...)
	texts = append(texts, templateText{manifest: rel.Manifest})
	return append(texts, hookTexts(after)...), nil
}

// hookTexts sorts by weight; hooks of one weight keep Helm's order of kinds.
func hookTexts(hooks []*helmrelease.Hook) []templateText {
	slices.SortStableFunc(hooks, func(a, b *helmrelease.Hook) int { return a.Weight - b.Weight })
	var texts []templateText
	for _, h := range hooks {
		texts = append(texts, templateText{h.Path, h.Manifest})
	}
	return texts
}
