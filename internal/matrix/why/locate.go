package why

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Locate gives the findings that have no place yet one in the recipe's files: the line of the
// manifest that has the object or the rejected field, or else the line that declares the component.
// A finding about no component stays as it is.
func Locate(components []recipe.Component, e *bundle.Expectation, findings []result.Finding) {
	for i := range findings {
		f := &findings[i]
		if f.Place.File != "" {
			continue
		}
		if f.Component == "" && f.Object != nil {
			f.Component = componentOf(e, *f.Object)
		}
		c := slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == f.Component })
		at, ok := manifestOf(e, f)
		switch {
		case ok:
			f.Story = append(slices.Clone(f.Story), "set in "+at.String())
		case c >= 0:
			at = components[c].Declared
		}
		f.Place = result.Place{File: at.File, Line: at.Line}
	}
}

// componentOf is the component that has an object; empty if none or several have one like it.
func componentOf(e *bundle.Expectation, ref result.Ref) string {
	found := ""
	for _, o := range e.Objects {
		if o.Object.GetKind() == ref.Kind && o.Object.GetName() == ref.Name && (ref.Namespace == "" || o.Object.GetNamespace() == ref.Namespace) {
			if found != "" && found != o.Component {
				return ""
			}
			found = o.Component
		}
	}
	return found
}

// manifestOf is the line of a manifest that a finding is about: the object that the API server's
// error names, or its field where it names only that, or the finding's own object.
func manifestOf(e *bundle.Expectation, f *result.Finding) (recipe.Origin, bool) {
	own := &bundle.Expectation{Objects: slices.DeleteFunc(slices.Clone(e.Objects), func(o bundle.Object) bool { return f.Component == "" || o.Component != f.Component })}
	field, _ := readRejectedField(f.Cause)
	if field.name != "" {
		return own.OriginOf(result.Ref{Kind: field.kind, Name: field.name}, "", field.path...)
	}
	if f.Object != nil {
		if at, ok := own.OriginOf(*f.Object, "", field.path...); ok {
			return at, true
		}
	}
	for _, o := range own.Objects {
		if value, has := valueAt(o.Object.Object, field.path); has && len(field.path) > 1 && (field.unfit == "" || field.unfit == typeInJSON(value)) {
			return o.Origin(field.path...)
		}
	}
	for _, o := range own.Objects { // a deployer names the object that it could not apply, in words of its own
		if names(f.Cause, o.Object.GetKind(), o.Object.GetNamespace(), o.Object.GetName()) {
			return o.Origin()
		}
	}
	return recipe.Origin{}, false
}

// names reports whether a text has an object's kind with its name: "Deployment d", "Deployment/ns/d",
// or as the API server writes it, `deployments.apps "d"`.
func names(text, kind, namespace, name string) bool {
	if name == "" {
		return false
	}
	if strings.Contains(strings.ToLower(text), strings.ToLower(kind)) && strings.Contains(text, `"`+name+`"`) {
		return true
	}
	for _, full := range []string{name, namespace + "/" + name} {
		for _, between := range []string{" ", "/"} {
			if _, after, ok := strings.Cut(text, kind+between+full); ok && (after == "" || strings.ContainsAny(after[:1], " :,;)\"'\n")) {
				return true
			}
		}
	}
	return false
}
