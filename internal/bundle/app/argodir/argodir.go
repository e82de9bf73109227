// Package argodir selects the files of a directory that Argo CD reads as manifests.
package argodir

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Files returns those of names, which are below dir, that Argo CD reads for a source with this field
// directory, which may be nil: files of YAML and JSON, in dir alone unless it says recurse, with the patterns of
// include and exclude for their paths from dir, in which * also stands for slashes. An error names the pattern
// that cannot be read.
func Files(names []string, dir string, directory *yamlv3.Node) ([]string, error) {
	include, err := pattern(directory, "include")
	if err != nil {
		return nil, err
	}
	exclude, err := pattern(directory, "exclude")
	if err != nil {
		return nil, err
	}
	recurse := yamlx.Text(directory, "recurse") == "true"
	var files []string
	for _, name := range names {
		rel := strings.TrimPrefix(name, dir+"/")
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) || !recurse && strings.Contains(rel, "/") ||
			exclude != nil && exclude.Match(rel) || include != nil && !include.Match(rel) {
			continue
		}
		files = append(files, name)
	}
	return files, nil
}

// pattern reads one of the two; nil if it is empty.
func pattern(directory *yamlv3.Node, key string) (glob.Glob, error) {
	text := yamlx.Text(directory, key)
	if text == "" {
		return nil, nil
	}
	g, err := glob.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("directory.%s: %q is no pattern: %w", key, text, err)
	}
	return g, nil
}
