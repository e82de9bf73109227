package bundle

import (
	"fmt"

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
	for i, file := range localFileNames(manifests) {
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

// fileOf is the file in which a person edits a template: the manifest that it was made of, and
// otherwise the template by the name that Helm gives it.
func (r *release) fileOf(template string) string {
	if m := r.sources[template]; m != nil {
		return m.File
	}
	return template
}
