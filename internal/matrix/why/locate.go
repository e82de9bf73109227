package why

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Locate gives the findings that have no place yet one in the recipe's files: the line of the
// manifest that has the object or the rejected field, or else the line that declares the component,
// with the template of its chart and the line there. A finding about no component stays as it is.
func Locate(components []recipe.Component, b *bundle.Bundle, findings []result.Finding) {
	e := &b.Expectation
	for i := range findings {
		f := &findings[i]
		if f.Place.File != "" {
			continue
		}
		if f.Component == "" && f.Object != nil {
			f.Component = componentOf(e, *f.Object)
		}
		c := slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == f.Component })
		o, path := objectOf(e, f)
		if o != nil && len(path) == 0 {
			path = facts.Steps(f.Path)
		}
		needs, missing := withoutNamespace(e, f)
		if missing != "" && !slices.ContainsFunc(f.Story, func(s string) bool { return strings.Contains(s, missing) }) { // Argo CD's lane may have said it
			f.Story = append(slices.Clone(f.Story), missing)
		}
		if needs != nil {
			path = []string{"metadata", "namespace"}
			if o == nil || o.Object.GetNamespace() != needs.Object.GetNamespace() {
				o = needs
			}
		}
		for _, line := range []string{tooLong(e, f), ofThisCluster(f)} {
			if line != "" {
				f.Story = append(slices.Clone(f.Story), line)
			}
		}
		if old, served := unserved(e, f); len(served) > 0 {
			f.Story = slices.Concat(f.Story, served)
			if old != nil {
				o, path = old, []string{"apiVersion"}
			}
		}
		at, ok := recipe.Origin{}, false
		if o != nil {
			at, ok = o.Origin(path...)
		}
		switch {
		case ok:
			if line := editedIn(f, at.File); line > 0 { // what there is to edit decides, and is named already
				at.Line = line
				break
			}
			f.Story = append(slices.Clone(f.Story), "set in "+at.String())
		case c >= 0:
			at = components[c].Declared
			if o == nil || slices.ContainsFunc(f.Story, func(s string) bool { return strings.Contains(s, o.Template) }) {
				break
			}
			if line, _ := manifestline.Find(bundle.TemplateOf(b.Installs, o), manifestline.Object{Kind: o.Object.GetKind(), Name: o.Object.GetName()}, path...); line > 0 {
				f.Story = append(slices.Clone(f.Story), fmt.Sprintf("set in %s:%d (component declared in %s)", o.Template, line, at))
			}
		}
		f.Place = result.Place{File: at.File, Line: at.Line}
	}
}

// editedIn is the line of a file that a finding's own edit names; 0 if it names none there.
func editedIn(f *result.Finding, file string) int {
	m := regexp.MustCompile(`(?m)\bedit: .* in ` + regexp.QuoteMeta(file) + `:(\d+)`).FindStringSubmatch(f.Cause + "\n" + strings.Join(f.Story, "\n"))
	if m == nil {
		return 0
	}
	line, _ := strconv.Atoi(m[1]) // digits; one too large for a line is none
	return line
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

// objectOf is the object that a finding is about, with the field: the one that the API server's
// error names, or that has the field where it names only that, or the finding's own object. It is nil
// if the component has none like it.
func objectOf(e *bundle.Expectation, f *result.Finding) (*bundle.Object, []string) {
	own := slices.DeleteFunc(slices.Clone(e.Objects), func(o bundle.Object) bool { return f.Component == "" || o.Component != f.Component })
	field, _ := readRejectedField(f.Cause)
	first := func(fits func(o *unstructured.Unstructured) bool) *bundle.Object {
		if i := slices.IndexFunc(own, func(o bundle.Object) bool { return fits(o.Object) }); i >= 0 {
			return &own[i]
		}
		return nil
	}
	called := func(kind, name string) *bundle.Object {
		return first(func(o *unstructured.Unstructured) bool {
			return (kind == "" || o.GetKind() == kind) && (name == "" || o.GetName() == name)
		})
	}
	if field.name != "" {
		return field.inObject(called(field.kind, field.name))
	}
	if f.Object != nil {
		if o := called(f.Object.Kind, f.Object.Name); o != nil {
			return field.inObject(o)
		}
	}
	if o := first(func(o *unstructured.Unstructured) bool {
		path := field.in(o)
		value, has := valueAt(o.Object, path)
		return has && len(path) > 1 && (field.kind == "" || field.kind == o.GetKind()) && (field.unfit == "" || field.unfit == typeInJSON(value))
	}); o != nil {
		return o, field.in(o.Object)
	}
	return first(func(o *unstructured.Unstructured) bool { // a deployer names the object that it could not apply, in words of its own
		return names(f.Cause, o.GetKind(), o.GetNamespace(), o.GetName())
	}), nil
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
