package app

// flux_others.go is about sources of Flux in Git repositories other than this checkout. It must not know how these are
// fetched: the cluster file says which directory of the checkout has their files.

import (
	"fmt"
	"path"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// fromOthers gives objects whose Kustomizations of another Git repository have the path in this checkout that has its files.
// Those of a repository that the cluster file leaves out are not among them; one of which it says nothing is an error, which
// is kept, so that all are named at once.
func (f *fluxApp) fromOthers(objects []object) []object {
	for _, o := range objects {
		if o.Group() == groupSource && o.Kind() == kindGitSource {
			f.git[f.namespaceOf(o)+"/"+o.Name()] = yamlx.Text(o.Node, "spec", "url")
		}
	}
	var rest []object
	for _, o := range objects {
		ref := yamlx.Find(o.Node, "spec", "sourceRef")
		if !isKustomization(o) || yamlx.Text(ref, "kind") != kindGitSource {
			rest = append(rest, o)
			continue
		}
		in := yamlx.Text(ref, "namespace")
		if in == "" {
			in = f.namespaceOf(o)
		}
		switch dir, is := f.inOther(o, ref, f.git[in+"/"+yamlx.Text(ref, "name")]); {
		case !is:
			rest = append(rest, o)
		case dir == "":
			f.given[fluxapi.KustomizationKey(o.Node)] = true
		default:
			node := yamlx.Clone(o.Node)
			yamlx.Set(child(node, "spec"), "path", "!!str", path.Join(dir, pathOf(o)))
			rest = append(rest, checkout.New(o.File, node))
		}
	}
	return rest
}

// inOther reports whether a source is another repository, and the directory of the checkout with its files; empty if what is
// from there is left out.
func (f *fluxApp) inOther(o object, at *yamlv3.Node, address string) (dir string, is bool) {
	dir, said := f.repo.Elsewhere(address)
	if !said && (address == "" || f.repo.Own(address)) {
		return "", false
	}
	if !said && !f.cluster.lacks(address) {
		err := f.repo.BadAt(o, at, "%s %s: %s", o.Kind(), o.Name(), f.repo.NotOwn(address))
		if !slices.ContainsFunc(f.foreign, func(other error) bool { return other.Error() == err.Error() }) {
			f.foreign = append(f.foreign, err)
		}
		return "", true
	}
	if dir == "" {
		f.override("%s %s (%s) is left out: the cluster file says that its repository %s is not here", o.Kind(), o.Name(), f.repo.At(o), address)
		f.unknown("%s %s (%s): what it delivers from %s, and whether that is there before what depends on it", o.Kind(), o.Name(), f.repo.At(o), address)
		return "", true
	}
	f.override("%s %s (%s): %s is the repository %s, by the cluster file", o.Kind(), o.Name(), f.repo.At(o), f.repo.Shown(dir), address)
	return dir, true
}

// above is a Kustomization outside of a path that applies it with variables or patches, for people; empty if there is none.
// Without them the path is not what the cluster gets.
func (f *fluxApp) above(start string) string {
	files, _ := f.repo.Having(groupKustomize, start)
	for _, file := range files {
		if below(start, path.Dir(file)) || start == "." {
			continue
		}
		found, err := f.repo.Documents(file)
		if err != nil {
			continue
		}
		for _, o := range found {
			spec := yamlx.Find(o.Node, "spec")
			if isKustomization(o) && below(pathOf(o), start) && pathOf(o) != "." && (yamlx.Find(spec, "postBuild") != nil || yamlx.Find(spec, "patches") != nil) {
				return fmt.Sprintf("Kustomization %s (%s) applies this path with variables or patches of its own: pass %s for what a cluster gets", o.Name(), f.repo.At(o), f.repo.Shown(path.Dir(file)))
			}
		}
	}
	return ""
}

// chartsOfOthers leaves out the HelmReleases whose charts are in Git repositories that the cluster file leaves out.
func (f *fluxApp) chartsOfOthers() {
	var left []string
	f.objects = slices.DeleteFunc(f.objects, func(o object) bool {
		ref := yamlx.Find(o.Node, "spec", "chart", "spec", "sourceRef")
		if o.Kind() != kindRelease || o.Group() != groupHelm || f.packed[o.Node] || isSuspended(o) || yamlx.Text(ref, "kind") != kindGitSource {
			return false
		}
		dir, is := f.inOther(o, ref, f.urls[kindGitSource+" "+yamlx.Text(ref, "name")])
		if is && dir == "" {
			left = append(left, o.Name())
		}
		return is && dir == ""
	})
	for _, o := range f.objects {
		if list := yamlx.Find(o.Node, "spec", "dependsOn"); list != nil && o.Kind() == kindRelease {
			list.Content = slices.DeleteFunc(list.Content, func(n *yamlv3.Node) bool { return slices.Contains(left, yamlx.Text(n, "name")) })
		}
	}
	for key, of := range f.of {
		f.of[key] = slices.DeleteFunc(slices.Clone(of), func(name string) bool { return slices.Contains(left, name) })
	}
}
