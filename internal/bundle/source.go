package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

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

// templateLine is how Helm names a line of a template.
var templateLine = regexp.MustCompile(`[\w.-]+(?:/charts/[\w.-]+)*/templates/[\w./-]+\.(?:ya?ml|tpl|json)(?::(\d+))?`)

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
	found := templateLine.FindStringSubmatch(text)
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
	e.Err = &renamedError{strings.ReplaceAll(text, template, m.File), e.Err}
}

// missing is what Helm says where a template gives up by itself, or takes a field of what it did not find.
var missing = regexp.MustCompile(`execution error at \(|nil pointer evaluating|error calling (?:fail|required|index|get|b64dec)`)

// looksUp reports whether an error of Helm's is of a template that looks for objects of a cluster, or of one
// beside such a helper.
func looksUp(ch *chart.Chart, text string) bool {
	if ch == nil || !missing.MatchString(text) {
		return false
	}
	for _, found := range append(templateLine.FindAllString(text, -1), helpers(ch)...) {
		template, _, _ := strings.Cut(found, ":")
		if lookup.MatchString(manifestline.Template(ch, template)) {
			return true
		}
	}
	return false
}

var lookup = regexp.MustCompile(`\blookup\s+["$.(]`)

func helpers(ch *chart.Chart) (names []string) {
	for _, f := range ch.Templates {
		if strings.HasSuffix(f.Name, ".tpl") {
			names = append(names, ch.Name()+"/"+f.Name)
		}
	}
	return names
}

// renamedError is an error in other words.
type renamedError struct {
	text string
	err  error
}

func (e *renamedError) Error() string { return e.text }
func (e *renamedError) Unwrap() error { return e.err }

// Helm's errors about a value: of a template, which name the chart that it is of, and of the JSON
// schema of a chart.
var (
	valueOfTemplate = regexp.MustCompile(`[\w.-]+((?:/charts/[\w.-]+)*)/templates/\S+: executing "[^"]*" at <[^>]*\.Values\.([\w.-]+)`)
	valueOfSchema   = regexp.MustCompile(`(?m)^\s*-? ?at '/([^']+)': `)
)

// valueIn is the value of the recipe about which an error of Helm's is: the longest part of the path
// in it that a file sets. Empty if none does.
func valueIn(c *recipe.Component, text string) (recipe.Origin, string) {
	var paths []string
	if m := valueOfTemplate.FindStringSubmatch(text); m != nil {
		below := strings.ReplaceAll(strings.TrimPrefix(m[1], "/charts/"), "/charts/", ".")
		paths = append(paths, strings.TrimPrefix(below+"."+m[2], "."), m[2])
	}
	if m := valueOfSchema.FindStringSubmatch(text); m != nil {
		paths = append(paths, strings.ReplaceAll(m[1], "/", "."))
	}
	for _, path := range paths {
		for path != "" {
			if at, ok := c.Origins[path]; ok {
				return at, path
			}
			path = path[:max(strings.LastIndex(path, "."), 0)]
		}
	}
	return recipe.Origin{}, ""
}
