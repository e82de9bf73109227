// Package generators makes what an ApplicationSet's generators and templates make of paths, texts and
// files, in the way of Argo CD 3.5. It must not know charts or clusters.
package generators

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Directories are those of files, sorted, without hidden ones, which Argo CD leaves out.
func Directories(files []string) []string {
	all := map[string]bool{}
	for _, name := range files {
		for dir := path.Dir(name); dir != "." && !all[dir]; dir = path.Dir(dir) {
			all[dir] = !strings.HasPrefix(dir, ".") && !strings.Contains(dir, "/.")
		}
	}
	maps.DeleteFunc(all, func(_ string, shown bool) bool { return !shown })
	return slices.Sorted(maps.Keys(all))
}

// selects reports whether a pattern of a list of paths matches, and none that excludes does.
func selects(list *yamlv3.Node, matches func(pattern string) bool) bool {
	yes := false
	for _, n := range list.Content {
		if !matches(yamlx.Text(n, "path")) {
			continue
		}
		if yamlx.Text(n, "exclude") == "true" {
			return false
		}
		yes = true
	}
	return yes
}

// pathspec reports whether a file is one that git ls-files lists for a pattern, which is how Argo CD finds
// them unless its repo-server is told to do it in another way: a * stands for slashes too, and a directory
// for all that is in it.
func pathspec(pattern, name string) bool {
	if !strings.ContainsAny(pattern, `*?[\`) {
		pattern = strings.TrimSuffix(pattern, "/")
		return name == pattern || strings.HasPrefix(name, pattern+"/") || pattern == "."
	}
	text := regexp.QuoteMeta(pattern)
	text = regexp.MustCompile(`(\\\*)+`).ReplaceAllString(text, ".*")
	text = strings.ReplaceAll(text, `\?`, ".")
	text = regexp.MustCompile(`\\\[(!|\\\^)?(.+?)\\\]`).ReplaceAllStringFunc(text, func(class string) string {
		class = strings.TrimSuffix(strings.TrimPrefix(class, `\[`), `\]`)
		if rest, not := strings.CutPrefix(strings.Replace(class, `\^`, "!", 1), "!"); not {
			return "[^" + rest + "]"
		}
		return "[" + class + "]"
	})
	re, err := regexp.Compile("^(?s:" + text + ")$")
	return err == nil && re.MatchString(name)
}

// tag is a template without Go's, and parameter what a parameter may be called in one.
var (
	tag       = regexp.MustCompile(`\{\{(.*?)\}\}`)
	parameter = regexp.MustCompile(`^[^\s.][^\s]*$`)
)

// filled replaces parameters of the form {{path.basename}}. Argo CD leaves one that is none, or no text, as
// it is written, which nobody wants: it is an error. A template of Go stays, e.g. {{ .Release.Name }} in
// values of a chart.
func filled(texts []string, params map[string]any) ([]string, error) {
	var unknown string
	var all []string
	for _, text := range texts {
		all = append(all, tag.ReplaceAllStringFunc(text, func(match string) string {
			name := strings.TrimSpace(match[2 : len(match)-2])
			value, ok := params[name].(string)
			switch {
			case ok:
				return value
			case parameter.MatchString(name):
				unknown = match
			}
			return match
		}))
	}
	if unknown != "" {
		return nil, fmt.Errorf("no generator has the parameter %s, or it is no text; there are %s", unknown, strings.Join(slices.Sorted(maps.Keys(params)), ", "))
	}
	return all, nil
}

// flattened are parameters by their names with dots; of lists, with numbers.
func flattened(params map[string]any) map[string]string {
	all := map[string]string{}
	var walk func(at string, value any)
	walk = func(at string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, v := range value {
				walk(strings.TrimPrefix(at+"."+key, "."), v)
			}
		case []any:
			for i, v := range value {
				walk(at+"."+strconv.Itoa(i), v)
			}
		default:
			all[at] = fmt.Sprint(value)
		}
	}
	walk("", params)
	return all
}
