package rendering

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Files renders a release: its CRDs, wherever the chart has them, and the rest in the order
// in which Helm creates it, hooks that run at installation included. A hook is applied like any
// other object: kubectl neither waits for it nor deletes it.
func Files(ctx context.Context, renderer *render.Renderer, r render.Request, kinds CustomScopes) (crds, manifests []byte, err error) {
	all, err := texts(ctx, renderer, r)
	if err != nil {
		return nil, nil, err
	}
	var definitions, others bytes.Buffer
	for _, t := range all {
		for _, part := range split(t.manifest) {
			// The split takes the line break at a document's end, which belongs to the text of a
			// literal block that stands there.
			doc, source := part+"\n", t.template
			if named := sourceOf(doc); named != "" {
				source = named
			}
			if isCRD(doc) { // as it stands: Parse keeps the head of a definition only
				writeManifest(&definitions, source, []byte(strings.TrimSpace(sourceComment.ReplaceAllLiteralString(doc, ""))+"\n"))
				continue
			}
			objs, err := ParseDocuments(doc)
			if err != nil {
				return nil, nil, &TemplateError{source, err}
			}
			for _, o := range objs {
				if generatedName(o) {
					return nil, nil, &TemplateError{source, unnamed(o)}
				}
				kinds.FillNamespace(o, r.Namespace)
				text, err := yaml.Marshal(o.Object)
				if err != nil {
					return nil, nil, &TemplateError{source, err}
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

// text is a piece of a rendering; template is where it comes from if it does not say so
// itself.
type text struct{ template, manifest string }

// texts are what Helm would create of a release, in Helm's order: crds/, hooks before the
// installation, manifests, hooks after it.
func texts(ctx context.Context, renderer *render.Renderer, r render.Request) ([]text, error) {
	c := archive.Clone(r.Chart)
	if err := chartutil.ProcessDependenciesWithMerge(c, document.CopyValue(r.Values).(map[string]any)); err != nil {
		return nil, err
	}
	var texts []text
	for _, crd := range c.CRDObjects() {
		texts = append(texts, text{crd.Filename, string(crd.File.Data)})
	}
	rel, err := renderer.Release(ctx, r)
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
	texts = append(texts, text{manifest: rel.Manifest})
	return append(texts, hookTexts(after)...), nil
}

// hookTexts sorts by weight; hooks of one weight keep Helm's order of kinds.
func hookTexts(hooks []*helmrelease.Hook) []text {
	slices.SortStableFunc(hooks, func(a, b *helmrelease.Hook) int { return a.Weight - b.Weight })
	var texts []text
	for _, h := range hooks {
		texts = append(texts, text{h.Path, h.Manifest})
	}
	return texts
}
