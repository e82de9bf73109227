package daytwo

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// find is the object of that kind and name that a bundle renders; nil if there is none.
func find(b *bundle.Bundle, kind, name string) *bundle.Object {
	if b == nil {
		return nil
	}
	for i, o := range b.Expectation.Objects {
		if o.Object.GetKind() == kind && o.Object.GetName() == name {
			return &b.Expectation.Objects[i]
		}
	}
	return nil
}

// changed is an object in both bundles. The API server does not name the namespace: of several, it
// is one that has changed.
func changed(before, now *bundle.Bundle, kind, name string) (old, new *bundle.Object) {
	old, new = find(before, kind, name), find(now, kind, name)
	if before == nil || now == nil {
		return old, new
	}
	for i, a := range before.Expectation.Objects {
		if a.Object.GetKind() != kind || a.Object.GetName() != name {
			continue
		}
		for j, o := range now.Expectation.Objects {
			same := o.Object.GetKind() == kind && o.Object.GetName() == name && o.Object.GetNamespace() == a.Object.GetNamespace()
			if same && !reflect.DeepEqual(a.Object.Object, o.Object.Object) {
				return &before.Expectation.Objects[i], &now.Expectation.Objects[j]
			}
		}
	}
	return old, new
}

// place is an object's template with the line of a field, or of its kind if path is empty; without a
// line where the template does not show it.
func (b Bundles) place(o *bundle.Object, path string) string { return place(b.Now, o, path) }

// place is where an object, or a field of it, is: in the recipe's manifest, or in a chart's
// templates, e.g. b/templates/db.yaml:12.
func place(b *bundle.Bundle, o *bundle.Object, path string) string {
	var keys []string
	if path != "" {
		keys = strings.Split(path, ".")
	}
	if at, ok := o.Origin(keys...); ok {
		return at.String()
	}
	if n := lineIn(bundle.TemplateOf(b.Installs, o), o.Object.GetKind(), o.Object.GetName(), keys); n > 0 {
		return fmt.Sprintf("%s:%d", o.Template, n)
	}
	return o.Template
}

var documentEnd = regexp.MustCompile(`(?m)^---.*$`)

// lineIn returns the line of a field, or of what is above it, in the one document of a template that is
// of this kind; 0 if that is not clear. A template is no YAML: it looks for each key of the path behind the one before.
func lineIn(text, kind, name string, path []string) int {
	kindLine := regexp.MustCompile(`(?m)^kind:[ "']*` + regexp.QuoteMeta(kind) + `["']?\s*$`)
	var at, end int
	found, named := 0, 0
	start := 0
	for _, cut := range append(documentEnd.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if doc := text[start:cut[0]]; kindLine.MatchString(doc) {
			literal := strings.Contains(doc, "name: "+name)
			if found++; literal {
				named++
			}
			if found == 1 || literal && named == 1 {
				at, end = start, cut[0]
			}
		}
		start = cut[1]
	}
	if found == 0 || found > 1 && named != 1 {
		return 0
	}
	line := func(offset int) int { return 1 + strings.Count(text[:offset], "\n") }
	last := at + kindLine.FindStringIndex(text[at:end])[0]
	for _, key := range path {
		m := regexp.MustCompile(`(?m)(?:^\s*|[{,]\s*)(?:- )?(` + regexp.QuoteMeta(key) + `):`).FindStringSubmatchIndex(text[at:end])
		if m == nil { // a field that is gone, or that the template makes up: the line of what is above it
			break
		}
		last = at + m[2]
		at = last
	}
	return line(last)
}
