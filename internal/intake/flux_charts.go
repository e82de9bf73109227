package intake

import (
	"cmp"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const kindOCI = "OCIRepository"

// fluxChart is the chart that an OCIRepository has.
type fluxChart struct{ repo, chart, version string }

// chartSource reads an OCIRepository, whose chart a HelmRelease names by chartRef.
func (f *fluxForm) chartSource(file string, n *yamlv3.Node) error {
	name, spec := yamlx.Text(n, "metadata", "name"), yamlx.Find(n, "spec")
	address, ok := strings.CutPrefix(yamlx.Text(spec, "url"), "oci://")
	version := cmp.Or(yamlx.Text(spec, "ref", "semver"), yamlx.Text(spec, "ref", "tag"))
	if !ok || path.Dir(address) == "." || version == "" || name == bundle.FluxSource {
		return f.tree.bad(file, n.Line, "OCIRepository %s is not understood: want a chart at oci://HOST/…/CHART, with a tag or semver in spec.ref", name)
	}
	f.charts[name] = fluxChart{"oci://" + path.Dir(address), path.Base(address), version}
	return nil
}

// fitChart points an OCIRepository to the chart in the cell's registry.
func (f *fluxForm) fitChart(n *yamlv3.Node, in bundle.Input, b *bundle.Bundle) {
	name := yamlx.Text(n, "metadata", "name")
	i := slices.IndexFunc(b.Expectation.Releases, func(r bundle.Release) bool { return r.Given.Source == name })
	if i < 0 {
		return // no release has its chart
	}
	r, spec := b.Expectation.Releases[i], yamlx.Find(n, "spec")
	yamlx.Set(spec, "url", "!!str", strings.TrimSuffix(in.ChartRepository, "/")+"/"+r.Chart)
	yamlx.Set(spec, "insecure", "!!bool", "true")
	yamlx.Drop(spec, "secretRef")
	yamlx.Drop(spec, "provider")
	ref := yamlx.Find(spec, "ref")
	ref.Content = nil
	yamlx.Set(ref, "tag", "!!str", strings.ReplaceAll(r.ChartVersion, "+", "_"))
}
