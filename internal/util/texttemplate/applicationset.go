package texttemplate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/gosimple/slug"
	"sigs.k8s.io/yaml"
)

// ApplicationSet gives a template the functions that Argo CD gives those of an ApplicationSet.
type ApplicationSet struct {
	// Options are those of spec.goTemplateOptions, e.g. missingkey=error.
	Options []string
}

// goOptions are those that Go's templates have.
var goOptions = []string{"missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error"}

func (a *ApplicationSet) parse(text string) (*template.Template, error) {
	t := template.New("template").Funcs(applicationSetFunctions())
	for _, o := range a.Options {
		if !slices.Contains(goOptions, o) {
			return nil, fmt.Errorf("the option %q of goTemplateOptions is none of %s", o, strings.Join(goOptions, ", "))
		}
		t = t.Option(o)
	}
	return t.Parse(text)
}

// applicationSetFunctions are Sprig's, but for those that tell about the machine, and Argo CD's own.
func applicationSetFunctions() template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	all["normalize"] = Normalized
	all["slugify"] = slugify
	all["toYaml"] = func(v any) (string, error) {
		text, err := yaml.Marshal(v)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	all["fromYaml"] = func(text string) (m map[string]any, err error) { return m, yaml.Unmarshal([]byte(text), &m) }
	all["fromYamlArray"] = func(text string) (list []any, err error) { return list, yaml.Unmarshal([]byte(text), &list) }
	return all
}

// mostName is the longest name that an object may have.
const mostName = 253

// noName is what the name of an object does not have.
var noName = regexp.MustCompile(`[^a-z0-9.-]`)

// Normalized is a text as Argo CD makes it the name of an object.
func Normalized(name string) string {
	name = noName.ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(name[:min(len(name), mostName)], "-.")
}

// slugify makes a text a part of an address: slugify [MOST [WHOLE WORDS]] TEXT, of at most 50 characters if
// no number is given.
func slugify(args ...any) (string, error) {
	slug.MaxLength, slug.EnableSmartTruncate = 50, true
	for i, arg := range args {
		var ok bool
		switch {
		case i == len(args)-1:
			if arg, ok = arg.(string); ok {
				return slug.Make(Normalized(arg.(string))), nil
			}
		case i == 0:
			slug.MaxLength, ok = arg.(int)
		case i == 1:
			slug.EnableSmartTruncate, ok = arg.(bool)
		}
		if !ok {
			return "", fmt.Errorf("argument %d of slugify is %v; want slugify [MOST [WHOLE WORDS]] TEXT", i+1, arg)
		}
	}
	return "", nil
}
