package bundle

import (
	"fmt"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
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
	for _, m := range manifests {
		file := "templates/" + path.Base(m.Path)
		if _, ok := taken[file]; ok { // two manifests of one name from different directories
			file = "templates/" + strings.ReplaceAll(strings.Trim(path.Clean(m.Path), "/"), "/", "-")
		}
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

// criticalQuota is what AICR's bundler adds since July for a component whose pods have a system
// priority (gkeCriticalPriority in the registry, AICR's issue 915): GKE admits such pods only in a
// namespace with a ResourceQuota for their priority. It allows 32 pods a node, and at least 32.
func criticalQuota(in Input, c *recipe.Component) []recipe.Manifest {
	if !c.GKECriticalPriority || in.Recipe.Criteria.Service != "gke" || document.GenerationOf(in.Recipe.APIVersion) == recipe.March {
		return nil
	}
	const name = "aicr-gke-critical-pods"
	content := fmt.Sprintf(`apiVersion: v1
kind: ResourceQuota
metadata:
  name: %s
  namespace: %s
spec:
  hard:
    pods: "%d"
  scopeSelector:
    matchExpressions:
    - scopeName: PriorityClass
      operator: In
      values: [system-node-critical, system-cluster-critical]
`, name, namespace(c), max(32, 32*in.Recipe.Criteria.Nodes))
	return []recipe.Manifest{{Path: name + ".yaml", File: c.Registered.String(), Content: []byte(content)}}
}
