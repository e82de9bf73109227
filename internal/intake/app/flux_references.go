package app

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// namespaceOf is the namespace of an object of Flux in the repository's own cluster.
func (f *fluxApp) namespaceOf(o object) string {
	return cmp.Or(yamlx.Text(o.Node, "metadata", "namespace"), plainNamespace)
}

// found refuses a reference to a source in another namespace than where Flux looks; own is the object's.
func (f *fluxApp) found(o object, ref *yamlv3.Node, own string) error {
	kind, name := yamlx.Text(ref, "kind"), yamlx.Text(ref, "name")
	in := cmp.Or(yamlx.Text(ref, "namespace"), own)
	if there := f.at[kind+" "+name]; len(there) > 0 && !slices.Contains(there, in) {
		return f.repo.BadAt(o, ref, "%s %s looks for %s %s in the namespace %s, and it is in %s: Flux would wait for it for ever; set namespace", o.Kind(), o.Name(), kind, name, in, strings.Join(there, ", "))
	}
	return nil
}

// sourceless refuses the GitRepository of a Kustomization that no file has, where another one has this checkout.
// Where none has, it was made in another way, as a cloud's extension makes it.
func (f *fluxApp) sourceless(k object, name string) error {
	all := *f.repo
	if f.whole != nil {
		all.FSys = f.whole
	}
	if elsewhere(&all, groupSource, kindGitSource, name) == "" {
		for _, key := range slices.Sorted(maps.Keys(f.urls)) {
			if other, ok := strings.CutPrefix(key, kindGitSource+" "); ok && f.repo.Own(f.urls[key]) {
				return f.repo.Bad(k, []string{"spec", "sourceRef"}, "Kustomization %s looks for GitRepository %s, which no file of this repository has: Flux would wait for it for ever; GitRepository %s is this repository", k.Name(), name, other)
			}
		}
	}
	f.unknown("Kustomization %s (%s): whether the cluster has its source, GitRepository %s, which is not in this path", k.Name(), f.repo.At(k), name)
	return nil
}

// inCircle refuses Kustomizations that depend on each other: Flux applies none of them.
func (f *fluxApp) inCircle() error {
	before := func(k object) (all []object) {
		for _, d := range fluxapi.DependsOn(k.Node) {
			i := slices.IndexFunc(f.kustomizations, func(other object) bool { return fluxapi.KustomizationNames(d, fluxapi.KustomizationKey(other.Node)) })
			if i >= 0 {
				all = append(all, f.kustomizations[i])
			}
		}
		return all
	}
	done := map[*yamlv3.Node]bool{}
	var walk func(way []object) []object
	walk = func(way []object) []object {
		k := way[len(way)-1]
		for _, d := range before(k) {
			if i := slices.IndexFunc(way, func(o object) bool { return o.Node == d.Node }); i >= 0 {
				return way[i:]
			}
			if done[d.Node] {
				continue
			}
			if circle := walk(append(slices.Clone(way), d)); circle != nil {
				return circle
			}
		}
		done[k.Node] = true
		return nil
	}
	for _, k := range f.kustomizations {
		circle := walk([]object{k})
		if circle == nil {
			continue
		}
		first := circle[0]
		var names []string
		for _, o := range append(circle, first) {
			names = append(names, o.Name())
		}
		return f.repo.Bad(first, []string{"spec", "dependsOn"}, "Kustomization %s depends on itself (%s): Flux applies none of them; remove one dependsOn", first.Name(), strings.Join(names, " on "))
	}
	return nil
}

// dependsFound is found for the HelmReleases that another depends on.
func (f *fluxApp) dependsFound(o object, own string) error {
	list := yamlx.Find(o.Node, "spec", "dependsOn")
	for i := 0; list != nil && i < len(list.Content); i++ {
		name, in := yamlx.Text(list.Content[i], "name"), cmp.Or(yamlx.Text(list.Content[i], "namespace"), own)
		var there []string
		instead := "" // what the harness made of a Kustomization
		for _, other := range f.objects {
			if f.packed[other.Node] && other.Name() == name {
				instead = name
			}
			if other.Kind() == kindRelease && other.Group() == groupHelm && (other.Name() == name || f.calledAs(other) == name) && !f.packed[other.Node] {
				there = append(there, f.namespaceOf(other))
			}
		}
		if len(there) == 0 && instead != "" {
			return f.repo.BadAt(o, list.Content[i], "HelmRelease %s depends on HelmRelease %s, which no file has: %s is a Kustomization, and Flux looks for HelmReleases alone, so that it would wait for ever; let the Kustomization that applies HelmRelease %s depend on it", o.Name(), name, name, o.Name())
		}
		if len(there) > 0 && !slices.Contains(there, in) {
			return f.repo.BadAt(o, list.Content[i], "HelmRelease %s depends on HelmRelease %s in the namespace %s, and it is in %s: Flux would wait for it for ever; set namespace", f.calledAs(o), name, in, strings.Join(there, ", "))
		}
	}
	return nil
}

// placed refuses an object of a Kustomization that needs a namespace and has none: Flux gives it none.
func (f *fluxApp) placed(o, within object) error {
	if !homeless(o) {
		return nil
	}
	return f.repo.Bad(o, []string{"metadata"}, "%s %s has no namespace, and neither its files nor Kustomization %s (%s) give it one: Flux does not apply it; set spec.targetNamespace, or metadata.namespace", o.Kind(), o.Name(), within.Name(), f.repo.At(within))
}

// homeless reports whether an object of Kubernetes' own needs a namespace and has none.
func homeless(o object) bool {
	if yamlx.Text(o.Node, "metadata", "namespace") != "" || fluxapi.Custom(groupOf(o.Node)) {
		return false
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": yamlx.Text(o.Node, "apiVersion"), "kind": o.Kind()}}
	(rendering.CustomScopes{}).FillNamespace(u, plainNamespace)
	return u.GetNamespace() != ""
}
