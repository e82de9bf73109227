package app

// flux_namesakes.go keeps HelmReleases of one name apart that are in several namespaces: the lane has all of them in one. It must
// not know files or clusters.

import (
	"cmp"
	"fmt"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// helmReleaseOf are the name and the namespaces of a HelmRelease's release, as helm-controller computes them
// (GetReleaseName, GetReleaseNamespace and GetStorageNamespace of its API): Helm keeps what it knows of a release in
// the storage namespace, under its name.
func (f *fluxApp) helmReleaseOf(o object) (name, target, storage string) {
	spec, own := yamlx.Find(o.Node, "spec"), f.namespaceOf(o)
	target = yamlx.Text(spec, "targetNamespace")
	name = cmp.Or(yamlx.Text(spec, "releaseName"), fluxapi.ReleaseName(target, o.Name()))
	return name, cmp.Or(target, own), cmp.Or(yamlx.Text(spec, "storageNamespace"), own)
}

// calledAs is the name that the repository gives an object, which may have another one in the lane.
func (f *fluxApp) calledAs(o object) string { return cmp.Or(f.renamed[o.Node], o.Name()) }

// isRelease reports whether an object is a HelmRelease.
func isRelease(o object) bool { return o.Group() == groupHelm && o.Kind() == kindRelease }

// ofHelmCharts gives HelmReleases with a HelmChart (chartRef) what that says as their own spec.chart, which helm-controller makes a
// HelmChart of.
func (f *fluxApp) ofHelmCharts() {
	var used []string
	for i, o := range f.objects {
		ref := yamlx.Find(o.Node, "spec", "chartRef")
		if !isRelease(o) || yamlx.Text(ref, "kind") != kindHelmChart {
			continue
		}
		in := cmp.Or(yamlx.Text(ref, "namespace"), f.namespaceOf(o))
		at := slices.IndexFunc(f.objects, func(c object) bool {
			return c.Group() == groupSource && c.Kind() == kindHelmChart && c.Name() == yamlx.Text(ref, "name") && f.namespaceOf(c) == in
		})
		if at < 0 {
			continue // it is refused
		}
		from := f.objects[at]
		node := yamlx.Clone(o.Node)
		spec := yamlx.Clone(yamlx.Find(from.Node, "spec"))
		source := child(spec, "sourceRef")
		if yamlx.Text(source, "namespace") == "" {
			yamlx.Set(source, "namespace", "!!str", in)
		}
		shift(spec, ref.Line)
		yamlx.Drop(yamlx.Find(node, "spec"), "chartRef")
		chart := child(child(node, "spec"), "chart")
		chart.Content = append(chart.Content, scalar("spec"), spec)
		f.rename(o, node, o.Name())
		f.objects[i] = checkout.New(o.File, node)
		used = append(used, f.keyOf(from))
		f.override("HelmRelease %s (%s) has what HelmChart %s says as its spec.chart", o.Name(), f.repo.At(o), from.Name())
	}
	f.objects = slices.DeleteFunc(f.objects, func(o object) bool { return slices.Contains(used, f.keyOf(o)) })
}

// renameNamesakes gives HelmReleases names that differ where some in several namespaces have one, and refuses two that are one release to
// Helm. Its release keeps the name that helm-controller gives it.
func (f *fluxApp) renameNamesakes() error {
	taken, stored := map[string]object{}, map[string]object{}
	now := map[string]string{} // names by namespace and name in the repository
	for i, o := range f.objects {
		if !isRelease(o) || isSuspended(o) {
			continue
		}
		release, target, storage := f.helmReleaseOf(o)
		if first, again := stored[storage+"/"+release]; again && f.namespaceOf(first)+"/"+first.Name() != f.namespaceOf(o)+"/"+o.Name() {
			if _, other, _ := f.helmReleaseOf(first); other != target { // with one target it is a check's finding
				return f.repo.Bad(o, []string{"metadata", "name"}, "HelmRelease %s installs Helm release %s, which is stored in the namespace %s, and so does HelmRelease %s (%s): to Helm they are one release, and Flux replaces one by the other for ever; give one of them another releaseName or storageNamespace",
					o.Name(), release, storage, first.Name(), f.repo.At(first))
			}
		}
		stored[storage+"/"+release] = o
		first, again := taken[o.Name()]
		if !again || !f.packed[o.Node] && !f.packed[first.Node] && f.namespaceOf(first) == f.namespaceOf(o) {
			taken[o.Name()] = o // a second one in one namespace is refused later
			continue
		}
		name := f.namespaceOf(o) + "-" + o.Name()
		for n := 2; slices.ContainsFunc(f.objects, func(other object) bool { return isRelease(other) && other.Name() == name }); n++ {
			name = fmt.Sprintf("%s-%s-%d", f.namespaceOf(o), o.Name(), n)
		}
		node := yamlx.Clone(o.Node)
		yamlx.Set(child(node, "metadata"), "name", "!!str", name)
		if yamlx.Text(node, "spec", "releaseName") == "" {
			yamlx.Set(child(node, "spec"), "releaseName", "!!str", release)
		}
		if !f.packed[o.Node] {
			now[f.namespaceOf(o)+"/"+o.Name()] = name
			f.override("HelmRelease %s of the namespace %s (%s) has the name %s here, since the lane has all in one namespace; its release is %s in %s", o.Name(), f.namespaceOf(o), f.repo.At(o), name, release, target)
		}
		f.rename(o, node, name)
		f.objects[i] = checkout.New(o.File, node)
		taken[name] = f.objects[i]
	}
	f.sourcesApart(now)
	if len(now) == 0 {
		return nil
	}
	for i, o := range f.objects {
		if !isRelease(o) || f.packed[o.Node] {
			continue
		}
		node := yamlx.Clone(o.Node)
		refer := func(kind string, ref *yamlv3.Node) {
			if name := now[kind+cmp.Or(yamlx.Text(ref, "namespace"), f.namespaceOf(o))+"/"+yamlx.Text(ref, "name")]; name != "" {
				yamlx.Set(ref, "name", "!!str", name)
			}
		}
		if list := yamlx.Find(node, "spec", "dependsOn"); list != nil {
			for _, d := range list.Content {
				refer("", d)
			}
		}
		for _, ref := range []*yamlv3.Node{yamlx.Find(node, "spec", "chartRef"), yamlx.Find(node, "spec", "chart", "spec", "sourceRef")} {
			if ref != nil {
				refer(yamlx.Text(ref, "kind")+" ", ref)
			}
		}
		f.rename(o, node, o.Name())
		f.objects[i] = checkout.New(o.File, node)
	}
	return nil
}

// sourcesApart does the same for sources of charts that have one name in several namespaces, and not one address. It adds their
// names to now.
func (f *fluxApp) sourcesApart(now map[string]string) {
	taken := map[string]object{}
	for i, o := range f.objects {
		if o.Group() != groupSource || o.Kind() != kindHelmSource && o.Kind() != kindOCISource || f.artifacts[o.Name()] {
			continue
		}
		first, again := taken[o.Kind()+" "+o.Name()]
		if !again || f.namespaceOf(first) == f.namespaceOf(o) || addressOf(first) == addressOf(o) {
			taken[o.Kind()+" "+o.Name()] = o
			continue
		}
		name := f.namespaceOf(o) + "-" + o.Name()
		node := yamlx.Clone(o.Node)
		yamlx.Set(child(node, "metadata"), "name", "!!str", name)
		f.override("%s %s of the namespace %s (%s) has the name %s here, since the lane has all in one namespace", o.Kind(), o.Name(), f.namespaceOf(o), f.repo.At(o), name)
		now[o.Kind()+" "+f.namespaceOf(o)+"/"+o.Name()] = name
		f.objects[i] = checkout.New(o.File, node)
	}
}

// addressOf is what a source fetches: its address, and of an OCIRepository the version, which is part of what it is.
func addressOf(o object) string {
	url := yamlx.Text(o.Node, "spec", "url")
	if o.Kind() == kindOCISource {
		url += " " + yamlx.Text(o.Node, "spec", "ref", "tag") + " " + yamlx.Text(o.Node, "spec", "ref", "semver")
	}
	return url
}

// rename has what is known of a HelmRelease be known of another node, with this name.
func (f *fluxApp) rename(o object, node *yamlv3.Node, name string) {
	f.renamed[node] = f.calledAs(o)
	if f.packed[o.Node] {
		f.packed[node] = true
	}
	key, in := f.within[o.Node]
	if !in {
		return
	}
	f.within[node] = key
	put := func(list []string) {
		if i := slices.Index(list, o.Name()); i >= 0 {
			list[i] = name
		}
	}
	put(f.of[key])
	if n := f.graph[key]; n != nil && f.packed[node] {
		put(n.Applied)
	} else if n != nil {
		put(n.Releases)
	}
}
