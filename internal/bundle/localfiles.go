package bundle

// localfiles.go knows which file of a person a template of a component's own chart was made of.
// It must not know deployers.

import (
	"path"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// localFileNames are those of the templates that a chart has of manifests, in their order.
func localFileNames(manifests []recipe.Manifest) []string {
	names := make([]string, 0, len(manifests))
	for _, m := range manifests {
		file := "templates/" + path.Base(m.Path)
		if slices.Contains(names, file) { // two manifests of one name from different directories
			file = "templates/" + strings.ReplaceAll(strings.Trim(path.Clean(m.Path), "/"), "/", "-")
		}
		names = append(names, file)
	}
	return names
}

// namesBelow are the names that the files of a chart's directory have in the chart.
func namesBelow(dir string, files []recipe.Manifest) []string {
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, strings.TrimPrefix(f.Path, dir+"/"))
	}
	return names
}

// localFileSources has, by the names that Helm gives the templates of a chart made of manifests, the files
// that a person edits.
func localFileSources(c *recipe.Component, chart string, manifests []recipe.Manifest, names []string) map[string]*recipe.Manifest {
	sources := make(map[string]*recipe.Manifest, len(manifests))
	for i, name := range names {
		m := &manifests[i]
		if c.Kustomization != nil { // the manifest is what was built of the file
			written := slices.IndexFunc(c.Kustomization.Files, func(f recipe.Manifest) bool { return f.File == m.File })
			m = &recipe.Manifest{File: c.Kustomization.File, Line: 1}
			if written >= 0 {
				m = &c.Kustomization.Files[written]
			}
		}
		if m.File != "" {
			sources[chart+"/"+name] = m
		}
	}
	return sources
}
