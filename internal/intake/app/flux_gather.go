package app

import (
	"fmt"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/recipe/kustomization"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// gather adds objects of Flux, and in place of a Kustomization those of its directory. Within is the
// Kustomization that objects are of; what else it applies is laid out as a chart.
func (f *fluxApp) gather(objects []object, within object, depth int) error {
	objects, err := f.built(objects)
	if err != nil {
		return err
	}
	objects = f.inOrder(f.unheld(f.fromOthers(f.external(objects))))
	for _, o := range objects { // before Kustomizations, which may have variables from them
		if yamlx.Text(o.Node, "apiVersion") == "v1" && (o.Kind() == "ConfigMap" || o.Kind() == "Secret") {
			f.values = append(f.values, o)
		}
	}
	var others []object
	for _, o := range objects {
		key := f.keyOf(o)
		if f.read[key] {
			continue
		}
		f.read[key] = true
		switch {
		case yamlx.Text(o.Node, "metadata", "labels", "app.kubernetes.io/part-of") == "flux", o.Group() == groupOperator && o.Kind() == "FluxInstance":
			f.own++
		case o.Group() == groupOperator:
			f.others = append(f.others, fmt.Sprintf("%s %s (%s)", o.Kind(), o.Name(), f.repo.At(o)))
		case strings.HasSuffix(o.Group(), groupFlux) && !ours(o) && o.Group() != groupKustomize:
			f.others = append(f.others, fmt.Sprintf("%s %s (%s)", o.Kind(), o.Name(), f.repo.At(o)))
		case o.Group() == groupKustomize:
			if depth > mostNested {
				return f.repo.Bad(o, nil, "Kustomizations are nested more than %d deep", mostNested)
			}
			if err := f.kustomization(o, within, depth); err != nil {
				return err
			}
		default:
			if err := f.mayDecrypt(o, within); err != nil {
				return err
			}
			o, err := f.decrypted(o)
			if err != nil {
				return err
			}
			if isKustomization(within) { // and not manifests without one
				if err := f.placed(o, within); err != nil {
					return err
				}
			}
			if within.Node == nil || ours(o) || o.Kind() == "Namespace" || o.Kind() == "CustomResourceDefinition" {
				f.release(o, within)
			} else {
				others = append(others, o)
			}
		}
	}
	return f.pack(within, others)
}

// release adds an object, which may be a HelmRelease of a Kustomization.
func (f *fluxApp) release(o, within object) {
	if within.Node != nil && o.Kind() == kindRelease && o.Group() == groupHelm {
		key := fluxapi.KustomizationKey(within.Node)
		f.of[key] = append(f.of[key], o.Name())
		f.within[o.Node] = key
		if n := f.graph[key]; n != nil && f.packed[o.Node] {
			n.Applied = append(n.Applied, o.Name())
		} else if n != nil {
			n.Releases = append(n.Releases, o.Name())
		}
	}
	f.objects = append(f.objects, o)
}

// built replaces the files of directories that are Kustomize's with what Kustomize makes of them.
func (f *fluxApp) built(objects []object) ([]object, error) {
	var dirs, parts []string // parts are Components, which are built with what names them
	for _, o := range objects {
		if o.Group() == groupPlain && o.Kind() == kindComponent && slices.Contains(kustomization.Names, path.Base(o.File)) {
			parts = append(parts, path.Dir(o.File))
		}
	}
	ofPart := func(o object) bool {
		return slices.ContainsFunc(parts, func(d string) bool { return below(d, path.Dir(o.File)) })
	}
	objects = slices.DeleteFunc(slices.Clone(objects), ofPart)
	for _, o := range objects {
		if dir := path.Dir(o.File); o.Group() == groupPlain && slices.Contains(kustomization.Names, path.Base(o.File)) {
			if !slices.ContainsFunc(dirs, func(d string) bool { return below(d, dir) }) {
				dirs = append(dirs, dir)
			}
		}
	}
	if len(dirs) == 0 {
		return objects, nil
	}
	all := slices.DeleteFunc(slices.Clone(objects), func(o object) bool {
		return o.Group() == groupPlain || slices.ContainsFunc(dirs, func(d string) bool { return below(d, path.Dir(o.File)) })
	})
	for _, dir := range dirs {
		made, err := f.build(dir, overlay{})
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return all, nil
}

// below reports whether a directory is another one, or in it.
func below(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// pathOf is the directory of a Kustomization of Flux.
func pathOf(o object) string {
	return path.Clean(strings.TrimPrefix(yamlx.Text(o.Node, "spec", "path"), "/"))
}

// entry is the path to pass for the cluster that a Kustomization is of: the one that it applies, if it is in there itself.
func entry(k object) string {
	if dir := path.Dir(k.File); !below(pathOf(k), dir) {
		return dir
	}
	return pathOf(k)
}

// isKustomization reports whether an object is a Kustomization of Flux.
func isKustomization(o object) bool {
	return o.Group() == groupKustomize && o.Kind() == kindKustomization
}

// unheld leaves out the objects that are in the directory of a Kustomization among them: that applies
// them, with its patches and variables. Of two Kustomizations in each other's directories, none is left out.
func (f *fluxApp) unheld(objects []object) []object {
	holds := func(k, o object) bool {
		return isKustomization(k) && !f.read[f.keyOf(k)] && f.keyOf(k) != f.keyOf(o) && below(pathOf(k), path.Dir(o.File))
	}
	return slices.DeleteFunc(slices.Clone(objects), func(o object) bool {
		return slices.ContainsFunc(objects, func(k object) bool { return holds(k, o) && !holds(o, k) })
	})
}

// inOrder puts each Kustomization after those that it depends on, which may have its variables.
func (f *fluxApp) inOrder(objects []object) []object {
	var sorted []object
	left := slices.Clone(objects)
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(o object) bool {
			return !isKustomization(o) || !slices.ContainsFunc(left, func(k object) bool {
				return isKustomization(k) && slices.ContainsFunc(fluxapi.DependsOn(o.Node), func(d string) bool { return fluxapi.KustomizationNames(d, fluxapi.KustomizationKey(k.Node)) })
			})
		})
		i = max(i, 0) // of a circle, the first; the HelmReleases in it are refused later
		sorted, left = append(sorted, left[i]), slices.Delete(left, i, i+1)
	}
	return sorted
}

// keyOf tells an object from others, and from a second reading of itself.
func (f *fluxApp) keyOf(o object) string {
	return f.repo.At(o) + " " + o.Kind() + " " + yamlx.Text(o.Node, "metadata", "namespace") + "/" + o.Name()
}

// kustomization gathers the objects of a Kustomization's directory.
func (f *fluxApp) kustomization(o, within object, depth int) error {
	spec := yamlx.Find(o.Node, "spec")
	if n := yamlx.Find(spec, "suspend"); n != nil && n.Value != "false" {
		f.paused[fluxapi.KustomizationKey(o.Node)] = f.repo.At(o)
		f.override("Kustomization %s (%s) is left out: it is suspended", o.Name(), f.repo.At(o))
		return nil
	}
	rest := checkout.New(o.File, yamlx.Clone(o.Node))
	for _, field := range []string{"patches", "postBuild", "decryption", "components", "ignoreMissingComponents", "images", "namePrefix", "nameSuffix", "commonMetadata"} { // all but decryption are done here
		yamlx.Drop(yamlx.Find(rest.Node, "spec"), field)
	}
	if account := yamlx.Find(rest.Node, "spec", "serviceAccountName"); account != nil {
		f.unknown("Kustomization %s: whether its account %s may apply its objects", o.Name(), account.Value)
		yamlx.Drop(yamlx.Find(rest.Node, "spec"), "serviceAccountName")
	}
	if err := f.allowed(rest); err != nil {
		return err
	}
	dir := pathOf(o)
	switch kind := yamlx.Text(spec, "sourceRef", "kind"); {
	case kind == kindOCISource && dir != "." && f.repo.HasDir(dir): // an artifact that was made from this repository
		f.override("Kustomization %s (%s): the artifact of %s %s is taken to be this checkout, which has its path", o.Name(), f.repo.At(o), kind, yamlx.Text(spec, "sourceRef", "name"))
		f.artifacts[yamlx.Text(spec, "sourceRef", "name")] = true
	case kind == kindExternal && f.repo.HasDir(dir):
		f.override("Kustomization %s (%s): what %s %s has at its path is taken to be %s of this checkout", o.Name(), f.repo.At(o), kind, yamlx.Text(spec, "sourceRef", "name"), f.repo.Shown(dir))
	case kind == kindExternal:
		return f.repo.Bad(o, []string{"spec", "sourceRef"}, "the source of Kustomization %s is ExternalArtifact %s, and no ArtifactGenerator among these files copies a directory of this repository to its path %q: pass a path that has the ArtifactGenerator too", o.Name(), yamlx.Text(spec, "sourceRef", "name"), yamlx.Text(spec, "path"))
	case kind == kindOCISource:
		return f.repo.Bad(o, []string{"spec", "path"}, "the source of Kustomization %s is an OCIRepository, and path %q does not tell which directory of this repository its artifact has: run that directory itself, with --app", o.Name(), yamlx.Text(spec, "path"))
	case kind != kindGitSource:
		return f.repo.Bad(o, []string{"spec", "sourceRef"}, "the source of Kustomization %s is a %s; want a GitRepository, which is this checkout, an OCIRepository with a path of it, or an ExternalArtifact", o.Name(), kind)
	}
	if i := slices.IndexFunc(f.kustomizations, func(k object) bool {
		return fluxapi.KustomizationKey(k.Node) == fluxapi.KustomizationKey(o.Node)
	}); i >= 0 {
		first := f.kustomizations[i]
		return f.repo.Bad(o, []string{"metadata", "name"}, "a second Kustomization %s; the first is at %s, and a cluster has one of them: pass the path of one cluster (%s or %s), or give them different names",
			o.Name(), f.repo.At(first), f.repo.Shown(entry(first)), f.repo.Shown(entry(o)))
	}
	f.kustomizations = append(f.kustomizations, o)
	f.graph[fluxapi.KustomizationKey(o.Node)] = fluxapi.KustomizationOf(o.Node, within.Node)
	f.dirs = append(f.dirs, dir)
	if !f.repo.HasDir(dir) {
		return f.repo.Bad(o, []string{"spec", "path"}, "path %q of Kustomization %s is no directory of this repository%s%s", yamlx.Text(spec, "path"), o.Name(), f.ignored(dir), f.repo.Only())
	}
	over, err := f.overlay(o)
	if err != nil {
		return err
	}
	var inner []object
	if f.repo.HasKustomization(dir) {
		inner, err = f.build(dir, over)
	} else {
		inner, err = f.unlisted(dir, over)
	}
	if err != nil {
		return err
	}
	if inner, err = f.substituted(o, inner); err != nil {
		return err
	}
	f.commonMetadata(o, inner)
	if err := f.waits(o, inner); err != nil {
		return err
	}
	f.override("Kustomization %s (%s) is replaced by the objects in %s; what it depends on became dependsOn of its HelmReleases", o.Name(), f.repo.At(o), f.repo.Shown(dir))
	return f.gather(inner, o, depth+1)
}

// pack lays out what a Kustomization applies beside objects of Flux as a chart with a HelmRelease:
// so it is verified, and waits for the Kustomizations that come before.
func (f *fluxApp) pack(within object, objects []object) error {
	if len(objects) == 0 {
		return nil
	}
	if f.lane == bundle.FluxOCI {
		return f.repo.Bad(within, nil, "Kustomization %s applies %s %s (%s) beside HelmReleases, which is delivered as a chart in a Git repository, and the lane %s has none: run it with -d %s", within.Name(), objects[0].Kind(), objects[0].Name(), f.repo.At(objects[0]), f.lane, bundle.FluxGit)
	}
	name := within.Name()
	if err := nameable(name); err != nil {
		return f.repo.Bad(within, []string{"metadata", "name"}, "%w", err)
	}
	for slices.ContainsFunc(f.objects, func(o object) bool { return o.Kind() == kindRelease && o.Name() == name }) {
		name += "-objects"
	}
	if err := f.asChart(name, "charts/"+name, objects); err != nil {
		return err
	}
	node, waits, err := fluxObjectPacked(name, yamlx.Find(within.Node, "spec"))
	if err != nil {
		return f.repo.Bad(within, nil, "%w", err)
	}
	made := checkout.New(within.File, node)
	if waits {
		exprs, err := f.expressions(within)
		if err != nil {
			return err
		}
		for i := range exprs { // the root waits for what they say
			exprs[i].Current, exprs[i].Failed, exprs[i].InProgress = "true", "", ""
		}
		withExpressions(yamlx.Find(made.Node, "spec"), exprs)
	}
	f.packed[made.Node] = true
	shift(made.Node, within.Node.Line)
	f.release(made, within)
	var kinds []string
	for _, o := range objects {
		kinds = append(kinds, o.Kind()+" "+o.Name())
	}
	f.override("Kustomization %s: delivered as the chart of a HelmRelease: %s", within.Name(), strings.Join(lists.AtMost(kinds, 5), ", "))
	return nil
}

// shift gives all nodes of an object a line.
func shift(n *yamlv3.Node, line int) { checkout.Renumber(n, func(int) int { return line }) }
