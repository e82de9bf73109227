package archive

import (
	"slices"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Clone copies as much of a chart as Helm changes when it renders: metadata, values and the
// tree of dependencies. File contents are shared.
func Clone(ch *chart.Chart) *chart.Chart {
	c := *ch
	if ch.Metadata != nil {
		m := *ch.Metadata
		m.Dependencies = nil
		for _, d := range ch.Metadata.Dependencies {
			dep := *d
			dep.ImportValues = slices.Clone(d.ImportValues)
			m.Dependencies = append(m.Dependencies, &dep)
		}
		c.Metadata = &m
	}
	c.Values = document.CopyValue(ch.Values).(map[string]any)
	deps := make([]*chart.Chart, 0, len(ch.Dependencies()))
	for _, d := range ch.Dependencies() {
		deps = append(deps, Clone(d))
	}
	c.SetDependencies(deps...)
	return &c
}
