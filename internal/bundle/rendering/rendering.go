// Package rendering renders a chart as Helm does at installation, without a cluster, and makes
// objects and manifests of the text. It must not know recipes, deployers or clusters.
package rendering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Object is one object that a chart renders, before namespaces are filled in.
type Object struct {
	Template  string
	Hook      bool
	Ephemeral bool
	*unstructured.Unstructured
	// Definition is the whole text of a CustomResourceDefinition, of which the object is the head.
	Definition string

	text string // the document that it is from
}

// Rendering has the objects that a release's chart renders at installation.
type Rendering struct {
	Objects        []Object
	Text           string // all of it, hooks included
	DefinitionJobs []DefinitionJob
	// UpgradeHooks are the objects of hooks that Helm runs at upgrades, in its order.
	UpgradeHooks []Object
	// Unnamed is the error of a hook that Argo CD alone gives a name; nil without one.
	Unnamed error
	// Unmatched are the entries of what the deployer does to the objects that select none, if it was asked for.
	Unmatched []render.Unmatched
	// ArgoDiffers: Argo CD installs objects of this rendering that Helm does not.
	ArgoDiffers bool
}

// TemplateError says which template produced something that is not a Kubernetes object.
type TemplateError struct {
	Template string
	Err      error
}

func (e *TemplateError) Error() string { return fmt.Sprintf("%s: %v", e.Template, e.Err) }
func (e *TemplateError) Unwrap() error { return e.Err }

// Line is the line of the template's text that the error is about; 1 if it says none.
func (e *TemplateError) Line(text string) int {
	line := 0
	if te := (*textError)(nil); errors.As(e.Err, &te) {
		line, _ = manifestline.Find(text, manifestline.Object{Kind: te.Kind, Name: te.Name}, te.Path...)
	}
	return max(cmp.Or(line, manifestline.Headless(text)), 1)
}

// In is the error with the line of the chart's template, if it is about one.
func (e *TemplateError) In(ch *chart.Chart) error {
	if line := e.Line(manifestline.Template(ch, e.Template)); line > 1 {
		return &TemplateError{fmt.Sprintf("%s:%d", e.Template, line), e.Err}
	}
	return e
}

// mostObjects is how many objects one release may have, those in Lists included. The largest chart
// of the recipe set has 300.
const mostObjects = 10_000

// Release does what `helm template` does, without a cluster: hooks that run at install are in,
// others and the crds/ directories are not. For Argo CD, those are in that Argo CD runs at its first
// sync. The chart sees the request's APIVersions and no others.
func Release(ctx context.Context, renderer *render.Renderer, r render.Request, argocd bool) (*Rendering, error) {
	rel, err := renderer.Release(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := skippedHook(r.Chart, rel.Skipped); err != nil {
		return nil, err
	}
	out := &Rendering{Unmatched: rel.Unmatched}
	var text strings.Builder
	text.WriteString(rel.Manifest)
	for _, h := range rel.Hooks {
		if !runsAtInstall(h) {
			continue
		}
		text.WriteString("\n---\n" + h.Manifest)
		objs, err := Parse(h.Manifest, h.Path)
		if err != nil {
			return nil, err
		}
		for _, o := range objs {
			o.Hook = true
			o.Ephemeral = slices.Contains(h.DeletePolicies, helmrelease.HookSucceeded)
			out.Objects = append(out.Objects, o)
		}
	}
	objs, err := Parse(rel.Manifest, "")
	if err != nil {
		return nil, err
	}
	out.UpgradeHooks = upgradeHooks(rel.Hooks)
	out.DefinitionJobs = definitionJobs(out.UpgradeHooks, objs)
	out.Objects = append(objs, out.Objects...)
	added, err := atFirstSync(out.Objects, rel.Hooks)
	if err != nil && argocd {
		return nil, err
	}
	if out.ArgoDiffers = err != nil || len(added) > 0; argocd {
		out.Objects = append(out.Objects, added...)
		for _, o := range added {
			text.WriteString("\n---\n" + o.text)
		}
	}
	for i := range out.Objects {
		o := &out.Objects[i]
		generated := generatedName(o.Unstructured)
		if generated && out.Unnamed == nil {
			out.Unnamed = &TemplateError{o.Template, unnamed(o.Unstructured)}
		}
		o.Ephemeral = o.Ephemeral || generated || goneInArgoCD(o.GetAnnotations())
	}
	if len(out.Objects) > mostObjects {
		return nil, &render.LimitError{What: fmt.Sprintf("its templates make %d objects; the limit is %d", len(out.Objects), mostObjects)}
	}
	out.Text = text.String()
	return out, nil
}

// CRDs parses the crds/ directories of a chart and of those of its dependencies that the values
// leave enabled. They are not templates, so they are parsed apart from the rendering and only once.
func CRDs(ch *chart.Chart, values map[string]any) ([]Object, error) {
	c := archive.Clone(ch)
	if err := chartutil.ProcessDependenciesWithMerge(c, document.CopyValue(values).(map[string]any)); err != nil {
		return nil, err
	}
	var out []Object
	for _, crd := range c.CRDObjects() {
		objs, err := Parse(string(crd.File.Data), crd.Filename)
		if err != nil {
			return nil, err
		}
		out = append(out, objs...)
	}
	return out, nil
}

func runsAtInstall(h *helmrelease.Hook) bool {
	return slices.Contains(h.Events, helmrelease.HookPreInstall) || slices.Contains(h.Events, helmrelease.HookPostInstall)
}

var sourceComment = regexp.MustCompile(`(?m)^# Source: (.+)$`)

// sourceOf is the template that a document names; empty if it names none, which is cheaper to see
// without the expression.
func sourceOf(doc string) string {
	if !strings.Contains(doc, "# Source: ") {
		return ""
	}
	if m := sourceComment.FindStringSubmatch(doc); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

// Parse splits a manifest into objects. The template is the one of the nearest "# Source:"
// comment at or above the object.
func Parse(text, template string) ([]Object, error) {
	var out []Object
	for _, doc := range split(text) {
		if source := sourceOf(doc); source != "" {
			template = source
		}
		objs, err := ParseDocuments(doc)
		if err != nil {
			return nil, &TemplateError{template, err}
		}
		definition := ""
		if isCRD(doc) {
			definition = doc
		}
		for _, o := range objs {
			out = append(out, Object{Template: template, Unstructured: o, Definition: definition, text: doc})
		}
	}
	return out, nil
}
