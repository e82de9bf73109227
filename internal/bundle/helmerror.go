package bundle

// helmerror.go reads what the errors of Helm's renderer are about. Helm gives them as text only.

import (
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// templateOfError is how Helm names a line of a template.
var templateOfError = regexp.MustCompile(`[\w.-]+(?:/charts/[\w.-]+)*/templates/[\w./-]+\.(?:ya?ml|tpl|json)(?::(\d+))?`)

// missing is what Helm says where a template gives up by itself, or takes a field of what it did not find.
var missing = regexp.MustCompile(`execution error at \(|nil pointer evaluating|error calling (?:fail|required|index|get|b64dec)`)

// looksUp reports whether an error of Helm's is of a template that looks for objects of a cluster, or of one
// beside such a helper.
func looksUp(ch *chart.Chart, text string) bool {
	if ch == nil || !missing.MatchString(text) {
		return false
	}
	for _, found := range append(templateOfError.FindAllString(text, -1), helpers(ch)...) {
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

// renamed is an error in other words.
type renamed struct {
	text string
	err  error
}

func (e *renamed) Error() string { return e.text }
func (e *renamed) Unwrap() error { return e.err }

// inOtherWords is an error with another text.
func inOtherWords(text string, err error) error { return &renamed{text, err} }

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
