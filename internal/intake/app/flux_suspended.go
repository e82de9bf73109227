package app

import (
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// isSuspended reports whether Flux leaves an object alone.
func isSuspended(o object) bool {
	n := yamlx.Find(o.Node, "spec", "suspend")
	return n != nil && n.Value != "false"
}

// suspended leaves out the HelmReleases that Flux does not install. What waits for one of them would
// wait for ever, and is refused.
func (f *fluxApp) suspended() error {
	var left []string
	for _, o := range f.objects {
		if o.Kind() != kindRelease || o.Group() != groupHelm || !isSuspended(o) {
			continue
		}
		left = append(left, o.Name())
		f.override("HelmRelease %s (%s) is left out: it is suspended", o.Name(), f.repo.At(o))
		for _, k := range f.kustomizations {
			if n := yamlx.Find(k.Node, "spec", "wait"); n != nil && n.Value == "true" && slices.Contains(f.of[fluxapi.KustomizationKey(k.Node)], o.Name()) {
				return f.repo.BadAt(k, n, "Kustomization %s waits for HelmRelease %s (%s), which is suspended: on a new cluster it is never ready", k.Name(), o.Name(), f.repo.At(o))
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	gone := func(o object) bool {
		return o.Kind() == kindRelease && o.Group() == groupHelm && slices.Contains(left, o.Name())
	}
	for _, o := range f.objects {
		list := yamlx.Find(o.Node, "spec", "dependsOn")
		if list == nil || gone(o) || o.Kind() != kindRelease {
			continue
		}
		if i := slices.IndexFunc(list.Content, func(n *yamlv3.Node) bool { return slices.Contains(left, yamlx.Text(n, "name")) }); i >= 0 {
			return f.repo.BadAt(o, list.Content[i], "HelmRelease %s depends on HelmRelease %s, which is suspended: on a new cluster Flux waits for it for ever", o.Name(), yamlx.Text(list.Content[i], "name"))
		}
	}
	f.objects = slices.DeleteFunc(f.objects, gone)
	for name, of := range f.of {
		f.of[name] = slices.DeleteFunc(slices.Clone(of), func(release string) bool { return slices.Contains(left, release) })
	}
	return nil
}
