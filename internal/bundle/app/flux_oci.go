package app

import (
	"errors"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const kindOCISource = "OCIRepository"

// ociChart is the chart that an OCIRepository names.
type ociChart struct {
	repository, chart, version string
	at                         string // its file and line
}

// helmSource is the name of the HelmRepository in the place of an OCIRepository.
func helmSource(name string) string { return "oci-" + name }

// ociSource reads an OCIRepository. What decides which bytes Flux pulls has to be understood.
func (f *fluxApp) ociSource(o object) (ociChart, error) {
	spec, c := yamlx.Find(o.node, "spec"), ociChart{at: f.repo.at(o)}
	for _, key := range yamlx.Keys(spec) {
		if !slices.Contains([]string{"url", "ref", "interval", "timeout", "provider", "layerSelector"}, key) && !slices.Contains(loginFields(), key) {
			return c, f.repo.bad(o, []string{"spec", key}, "spec.%s of OCIRepository %s is not understood, and may decide which chart is pulled", key, o.name())
		}
	}
	for _, key := range yamlx.Keys(yamlx.Find(spec, "ref")) {
		if key != "tag" && key != "semver" {
			return c, f.repo.bad(o, []string{"spec", "ref", key}, "spec.ref.%s of OCIRepository %s: want a tag, which is the chart's version, or semver, a range of versions", key, o.name())
		}
	}
	address, ok := strings.CutPrefix(yamlx.Text(spec, "url"), "oci://")
	if !ok || path.Dir(address) == "." {
		return c, f.repo.bad(o, []string{"spec", "url"}, "url %q of OCIRepository %s: want oci://HOST/…/CHART", yamlx.Text(spec, "url"), o.name())
	}
	c.repository, c.chart = "oci://"+path.Dir(address), path.Base(address)
	key := "tag" // semver goes before it in Flux
	if yamlx.Find(spec, "ref", "semver") != nil {
		key = "semver"
	}
	v, err := version(yamlx.Text(spec, "ref", key))
	if err == nil && v == "*" && key == "tag" {
		err = errors.New("no tag is the tag latest, which names no version: name one")
	}
	if err != nil {
		return c, f.repo.bad(o, []string{"spec", "ref", key}, "OCIRepository %s: %w", o.name(), err)
	}
	c.version = v
	return c, nil
}

// helmRepository makes an OCIRepository the HelmRepository that has its chart.
func helmRepository(o *object, c ociChart) {
	yamlx.Set(o.node, "kind", "!!str", kindHelmSource)
	yamlx.Set(child(o.node, "metadata"), "name", "!!str", helmSource(o.name()))
	yamlx.Drop(o.node, "spec")
	spec := child(o.node, "spec")
	yamlx.Set(spec, "type", "!!str", "oci")
	yamlx.Set(spec, "interval", "!!str", "10m")
	yamlx.Set(spec, "url", "!!str", c.repository)
}

// chartRef gives a HelmRelease the chart of its OCIRepository by a HelmRepository: those are what the
// lane serves from the cell's registry.
func (f *fluxApp) chartRef(o *object, spec, ref *yamlv3.Node) error {
	name := yamlx.Text(ref, "name")
	if kind := yamlx.Text(ref, "kind"); kind != kindOCISource {
		return f.repo.badAt(*o, ref, "the chart of HelmRelease %s is from a %s; want an OCIRepository, or spec.chart", o.name(), kind)
	}
	c, ok := f.oci[name]
	if !ok {
		return f.repo.badAt(*o, ref, "the chart of HelmRelease %s is from OCIRepository %s, which is not among these files", o.name(), name)
	}
	yamlx.Drop(spec, "chartRef")
	chart := child(child(spec, "chart"), "spec")
	yamlx.Set(chart, "chart", "!!str", c.chart)
	yamlx.Set(chart, "version", "!!str", c.version)
	source := child(chart, "sourceRef")
	yamlx.Set(source, "kind", "!!str", kindHelmSource)
	yamlx.Set(source, "name", "!!str", helmSource(name))
	f.override("HelmRelease %s has the chart %s %s by a HelmRepository in place of OCIRepository %s (%s)", o.name(), c.chart, c.version, name, c.at)
	f.unknown("OCIRepository %s: its layerSelector and provider are not used, since the chart is from the cell's registry; nor is its digest, which Flux adds to the version that the chart sees (%s+0123456789ab): the API server rejects a label with .Chart.Version unless its template replaces the +", name, c.version)
	return nil
}
