package argoapi

// generators.go makes what an ApplicationSet's generators and templates make of paths, texts and
// files, in the way of Argo CD 3.5. It must not know charts or clusters.

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

// generatorDirectories are those of files, sorted, without hidden ones, which Argo CD leaves out.
func generatorDirectories(files []string) []string {
	all := map[string]bool{}
	for _, name := range files {
		for dir := path.Dir(name); dir != "." && !all[dir]; dir = path.Dir(dir) {
			all[dir] = !strings.HasPrefix(dir, ".") && !strings.Contains(dir, "/.")
		}
	}
	maps.DeleteFunc(all, func(_ string, shown bool) bool { return !shown })
	return slices.Sorted(maps.Keys(all))
}

// selection tells which paths a pattern of a list matches, and none that excludes does.
func selection(list *yamlv3.Node, compile func(pattern string) func(name string) bool) func(name string) bool {
	var includes, excludes []func(string) bool
	for _, n := range list.Content {
		if matches := compile(yamlx.Text(n, "path")); yamlx.Text(n, "exclude") == "true" {
			excludes = append(excludes, matches)
		} else {
			includes = append(includes, matches)
		}
	}
	return func(name string) bool {
		matches := func(pattern func(string) bool) bool { return pattern(name) }
		return slices.ContainsFunc(includes, matches) && !slices.ContainsFunc(excludes, matches)
	}
}

// generatorGlob matches directories as Argo CD does: of a pattern that is none, it matches nothing.
func generatorGlob(pattern string) func(name string) bool {
	return func(name string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }
}

// The wildcards of a pathspec, as regexp.QuoteMeta writes them.
var (
	stars   = regexp.MustCompile(`(\\\*)+`)
	classes = regexp.MustCompile(`\\\[(!|\\\^)?(.+?)\\\]`)
)

// pathspec matches files that git ls-files lists for a pattern, which is how Argo CD finds them unless its
// repo-server is told to do it in another way: a * stands for slashes too, and a directory for all that is in
// it.
func pathspec(pattern string) func(name string) bool {
	if !strings.ContainsAny(pattern, `*?[\`) {
		pattern = strings.TrimSuffix(pattern, "/")
		return func(name string) bool {
			return name == pattern || strings.HasPrefix(name, pattern+"/") || pattern == "."
		}
	}
	text := stars.ReplaceAllString(regexp.QuoteMeta(pattern), ".*")
	text = strings.ReplaceAll(text, `\?`, ".")
	text = classes.ReplaceAllStringFunc(text, func(class string) string {
		class = strings.TrimSuffix(strings.TrimPrefix(class, `\[`), `\]`)
		if rest, not := strings.CutPrefix(strings.Replace(class, `\^`, "!", 1), "!"); not {
			return "[^" + rest + "]"
		}
		return "[" + class + "]"
	})
	re, err := regexp.Compile("^(?s:" + text + ")$")
	if err != nil {
		return func(string) bool { return false }
	}
	return re.MatchString
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
