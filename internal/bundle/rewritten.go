package bundle

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// rewritten lists the values of a release that are numbers, are printed otherwise than their file has them, and are
// used as text: tag: 1.10 is the tag 1.1 in every lane. One with a 0 in front is another number too (0123 is 83),
// except where it is the mode of a file.
func rewritten(r *release, objects []Object) []string {
	var all []string
	add := func(path, written string, value any, at recipe.Origin) {
		text := fmt.Sprint(value)
		switch use := textWith(r, objects, text); {
		case strings.HasSuffix(strings.ToLower(path), "mode"):
		case use != "":
			all = append(all, fmt.Sprintf("%s is written %s without quotes, which is the number %s, and %s: quote it (%s)",
				path, written, text, use, at))
		case octalNumber.MatchString(written):
			all = append(all, fmt.Sprintf("%s is written %s without quotes, which is the number %s: quote it if it is text (%s)",
				path, written, text, at))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(r.component.Origins)) {
		origin := r.component.Origins[path]
		value, ok := at(r.component.Values, path) // a local chart has no others
		if !ok {
			continue
		}
		if origin.Written != "" {
			add(path, origin.Written, value, origin)
		}
		if origin.Listed == nil {
			continue
		}
		for _, n := range *origin.Listed {
			if item, ok := n.Value(value); ok && fmt.Sprint(item) != n.Written {
				add(path+n.String(), n.Written, item, recipe.Origin{File: origin.File, Line: n.Line})
			}
		}
	}
	return all
}

var octalNumber = regexp.MustCompile(`^[-+]?0[0-7_]+$`)

// textWith says which name, label, annotation or image of a release's objects has a text, as a word of its own.
func textWith(r *release, objects []Object, text string) string {
	word := regexp.MustCompile(`(^|[^0-9.])` + regexp.QuoteMeta(text) + `($|[^0-9.])`)
	for i := range objects {
		o := &objects[i]
		if o.Component != r.Component || o.Object == nil {
			continue
		}
		name := o.Object.GetKind() + " " + o.Object.GetName()
		found := ""
		var walk func(key string, v any, texts bool)
		walk = func(key string, v any, texts bool) {
			switch v := v.(type) {
			case string:
				if found == "" && (texts || key == "image") && word.MatchString(v) {
					found = fmt.Sprintf("%s has %s %q", name, key, v)
				}
			case map[string]any:
				for _, k := range slices.Sorted(maps.Keys(v)) {
					walk(k, v[k], key == "labels" || key == "annotations" || key == "matchLabels" || key == "nodeSelector")
				}
			case []any:
				for _, item := range v {
					walk(key, item, false)
				}
			}
		}
		if walk("", o.Object.Object, false); found == "" && word.MatchString(o.Object.GetName()) {
			found = name + " has it in its name"
		}
		if found != "" {
			return found
		}
	}
	return ""
}
