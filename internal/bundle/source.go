package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Origin is the line of the recipe's manifest that has the object, or the deepest part of a field
// of it that the manifest has; false for an object of a chart. Of an object that an operator makes
// it is the line of what it is made of.
func (o Object) Origin(path ...string) (recipe.Origin, bool) {
	if o.Manifest == nil {
		return recipe.Origin{}, false
	}
	named := manifestline.Object{}
	if o.Object != nil {
		named = manifestline.Object{Kind: o.Object.GetKind(), Name: o.Object.GetName()}
	}
	return originIn(o.Manifest, named, path)
}

// Origin is the line of the recipe's manifest that has a field of the pod template; false for a
// workload of a chart.
func (w *Workload) Origin(path ...string) (recipe.Origin, bool) {
	if w.Manifest == nil {
		return recipe.Origin{}, false
	}
	return originIn(w.Manifest, manifestline.Object{Kind: w.Kind, Name: w.Name}, podspec.Path(w.Kind, path))
}

// In is the chart's template, or the file that it is, with the line of a field of the pod template,
// or of what is above it; the template alone if that has no such line.
func (w *Workload) In(path ...string) string {
	if at, ok := w.Origin(path...); ok {
		return at.String()
	}
	return manifestline.In(w.Chart, w.Template, manifestline.Object{Kind: w.Kind, Name: w.Name}, podspec.Path(w.Kind, path)...)
}

// Where is the recipe's manifest, or the chart's template, with the line of the object or of a field of it;
// the template alone if that has no such line.
func (o *Object) Where(path ...string) string {
	if at, ok := o.Origin(path...); ok {
		return at.String()
	}
	return manifestline.In(o.Chart, o.Template, manifestline.Object{Kind: o.Object.GetKind(), Name: o.Object.GetName()}, path...)
}

// OriginOf is the line of the recipe's manifest that has an object of the expectation, or a field
// of it; false if no manifest does. The template is asked for where it is known; an empty kind or
// name fits every object.
func (e *Expectation) OriginOf(ref result.Ref, template string, path ...string) (recipe.Origin, bool) {
	for _, o := range e.Objects {
		if ref.Kind != "" && o.Object.GetKind() != ref.Kind || ref.Name != "" && o.Object.GetName() != ref.Name || template != "" && o.Template != template {
			continue
		}
		if at, ok := o.Origin(path...); ok {
			return at, true
		}
	}
	return recipe.Origin{}, false
}

func originIn(m *recipe.Manifest, named manifestline.Object, path []string) (recipe.Origin, bool) {
	line, _ := manifestline.Find(string(m.Content), named, path...)
	if line == 0 { // Kustomize may have given it another name
		line, _ = manifestline.Find(string(m.Content), manifestline.Object{Kind: named.Kind}, path...)
	}
	return m.Origin(max(line, 1)), true
}

// placeInManifest puts the error of a local chart at the line of the manifest, if it names one, and
// calls the manifest by the name under which a person finds it.
func (r *release) placeInManifest(e *RenderError) {
	text := e.Err.Error()
	if te := (*rendering.TemplateError)(nil); errors.As(e.Err, &te) {
		if m := r.sources[te.Template]; m != nil {
			e.Origin = m.Origin(te.Line(string(m.Content)))
			e.Err = fmt.Errorf("%s: %w", m.File, te.Err)
		}
		return
	}
	found := templateOfError.FindStringSubmatch(text)
	if found == nil {
		return
	}
	template, _, _ := strings.Cut(found[0], ":")
	m := r.sources[template]
	if m == nil {
		return
	}
	e.Origin = m.Origin(1)
	if line, err := strconv.Atoi(found[1]); err == nil {
		e.Origin = m.Origin(line)
	} else if strings.Contains(text, "YAML parse error") {
		e.Origin = m.Origin(max(cmp.Or(manifestline.Malformed(string(m.Content)), manifestline.Headless(string(m.Content))), 1))
	}
	e.Err = inOtherWords(strings.ReplaceAll(text, template, m.File), e.Err)
}
