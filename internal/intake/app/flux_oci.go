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

// ociSource reads an OCIRepository. What decides which bytes Flux pulls has to be understood.
func (f *fluxApp) ociSource(o object) (ociChart, error) {
	spec, c := yamlx.Find(o.Node, "spec"), ociChart{at: f.repo.At(o)}
	for _, key := range yamlx.Keys(spec) {
		if !slices.Contains([]string{"url", "ref", "interval", "timeout", "provider", "layerSelector", "verify"}, key) && !slices.Contains(loginFields(), key) {
			return c, f.repo.Bad(o, []string{"spec", key}, "spec.%s of OCIRepository %s is not understood, and may decide which chart is pulled", key, o.Name())
		}
	}
	for _, key := range yamlx.Keys(yamlx.Find(spec, "ref")) {
		if key != "tag" && key != "semver" && (key != "digest" || yamlx.Text(spec, "ref", "tag") == "") {
			return c, f.repo.Bad(o, []string{"spec", "ref", key}, "spec.ref.%s of OCIRepository %s: want a tag, which is the chart's version (beside a digest too), or semver, a range of versions", key, o.Name())
		}
	}
	address, ok := strings.CutPrefix(yamlx.Text(spec, "url"), "oci://")
	if !ok || path.Dir(address) == "." {
		return c, f.repo.Bad(o, []string{"spec", "url"}, "url %q of OCIRepository %s: want oci://HOST/…/CHART", yamlx.Text(spec, "url"), o.Name())
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
		return c, f.repo.Bad(o, []string{"spec", "ref", key}, "OCIRepository %s: %w", o.Name(), err)
	}
	c.version = v
	return c, nil
}

// chartRef gives a HelmRelease the chart of its OCIRepository, which the cell's registry has.
func (f *fluxApp) chartRef(o *object, spec, ref *yamlv3.Node) error {
	name := yamlx.Text(ref, "name")
	if kind := yamlx.Text(ref, "kind"); kind != kindOCISource {
		return f.repo.BadAt(*o, ref, "the chart of HelmRelease %s is from a %s; want an OCIRepository, or spec.chart", o.Name(), kind)
	}
	c, ok := f.oci[name]
	if !ok {
		return f.repo.BadAt(*o, ref, "the chart of HelmRelease %s is from OCIRepository %s, which is not among these files", o.Name(), name)
	}
	yamlx.Drop(ref, "namespace")
	f.override("OCIRepository %s (%s) has the chart %s %s from the cell's registry: the digest that Flux adds to the chart's version is the one there", name, c.at, c.chart, c.version)
	return nil
}

// chartSources leaves out OCIRepositories whose chart no HelmRelease has: the cell's registry lacks it.
func (f *fluxApp) chartSources() {
	used := map[string]bool{}
	for _, o := range f.objects {
		if o.Kind() == kindRelease && yamlx.Text(o.Node, "spec", "chartRef", "kind") == kindOCISource {
			used[yamlx.Text(o.Node, "spec", "chartRef", "name")] = true
		}
	}
	f.objects = slices.DeleteFunc(f.objects, func(o object) bool {
		unused := o.Kind() == kindOCISource && o.Group() == groupSource && !used[o.Name()]
		if unused {
			f.override("OCIRepository %s (%s) is left out: no HelmRelease here has its chart", o.Name(), f.repo.At(o))
		}
		return unused
	})
}
