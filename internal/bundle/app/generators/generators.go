// Package generators has what an ApplicationSet's generators and templates do with paths and texts, in the
// way of Argo CD. It must not know charts or clusters.
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

// Directories are those of files, sorted.
func Directories(files []string) []string {
	all := map[string]bool{}
	for _, name := range files {
		for dir := path.Dir(name); dir != "." && !all[dir]; dir = path.Dir(dir) {
			all[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Selected reports whether a pattern of a list selects a path, and none excludes it. Hidden
// directories are never selected. A ** stands for any number of directories, as in Argo CD.
func Selected(list *yamlv3.Node, name string) bool {
	if strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return false
	}
	yes := false
	for _, n := range list.Content {
		if !glob(yamlx.Text(n, "path")).MatchString(name) {
			continue
		}
		if yamlx.Text(n, "exclude") == "true" {
			return false
		}
		yes = true
	}
	return yes
}

func glob(pattern string) *regexp.Regexp {
	text := regexp.QuoteMeta(strings.Trim(pattern, "/"))
	text = strings.NewReplacer(`\*\*/`, "(.*/)?", `\*\*`, ".*", `\*`, "[^/]*", `\?`, "[^/]").Replace(text)
	return regexp.MustCompile("^" + text + "$")
}

// Normalized is a name as Argo CD makes it one of an object.
func Normalized(name string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9.-]+`).ReplaceAllString(strings.ToLower(name), "-"), "-.")
}

// Filled replaces parameters of the form {{path.basename}}.
func Filled(texts []string, params map[string]any) ([]string, error) {
	flat := map[string]string{}
	flatten("", params, flat)
	if at, ok := params["path"].(map[string]any); ok { // {{path}} is the path itself
		flat["path"] = fmt.Sprint(at["path"])
		segments, _ := at["segments"].([]any)
		for i, s := range segments {
			flat["path["+strconv.Itoa(i)+"]"] = fmt.Sprint(s)
		}
	}
	var unknown string
	var all []string
	for _, text := range texts {
		all = append(all, regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`).ReplaceAllStringFunc(text, func(match string) string {
			name := strings.TrimSpace(strings.Trim(match, "{}"))
			value, ok := flat[name]
			if !ok {
				unknown = match
			}
			return value
		}))
	}
	if unknown != "" {
		return nil, fmt.Errorf("no generator has the parameter %s; there are %s", unknown, strings.Join(slices.Sorted(maps.Keys(flat)), ", "))
	}
	return all, nil
}

func flatten(at string, value any, into map[string]string) {
	inner, ok := value.(map[string]any)
	if !ok {
		into[at] = fmt.Sprint(value)
		return
	}
	for key, v := range inner {
		flatten(strings.TrimPrefix(at+"."+key, "."), v, into)
	}
}
