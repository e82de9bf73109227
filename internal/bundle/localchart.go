package bundle

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// localChartVersion is the version of a chart made of manifests whose component has none.
const localChartVersion = "0.1.0"

// localChart makes a chart of a component's manifests. They are templates that find their values
// under the component's name ((index .Values "<component>")), so that is where values.yaml has
// them, for a release <component>-post too.
func localChart(c *recipe.Component, name string, manifests []recipe.Manifest, values map[string]any) ([]File, *chart.Chart, error) {
	version := localChartVersion
	if _, err := semver.NewVersion(c.Version); err == nil && c.ManifestOnly() {
		version = c.Version
	}
	meta, err := marshal(map[string]any{
		"apiVersion":  "v2",
		"name":        name,
		"version":     version,
		"type":        "application",
		"description": fmt.Sprintf("The manifests of the recipe component %s.", c.Name),
	})
	if err != nil {
		return nil, nil, err
	}
	nested, err := marshal(map[string]any{c.Name: values})
	if err != nil {
		return nil, nil, err
	}
	files := []File{{"Chart.yaml", 0o644, meta}, {"values.yaml", 0o644, nested}}
	taken := map[string]string{}
	for i, file := range templateNames(manifests) {
		m := manifests[i]
		if other, ok := taken[file]; ok {
			return nil, nil, fmt.Errorf("manifests %s and %s have the same name", other, m.Path)
		}
		taken[file] = m.Path
		files = append(files, File{file, 0o644, m.Content})
	}
	sortFiles(files)
	ch, err := loadChart(files, "")
	if err != nil {
		return nil, nil, err
	}
	return files, ch, nil
}

// templateNames are the templates that a chart has of manifests, in their order.
func templateNames(manifests []recipe.Manifest) []string {
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

// manifestsIn has, by the names that Helm gives the templates of a chart made of manifests, the files
// that a person edits.
func manifestsIn(c *recipe.Component, ch *chart.Chart, manifests []recipe.Manifest, names []string) map[string]*recipe.Manifest {
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
			sources[ch.Name()+"/"+name] = m
		}
	}
	return sources
}

// fileOf is the file in which a person edits a template: the manifest that it was made of, and
// otherwise the template by the name that Helm gives it.
func (r *release) fileOf(template string) string {
	if m := r.sources[template]; m != nil {
		return m.File
	}
	return template
}
