package app

import (
	"fmt"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const (
	groupHelm      = "helm.toolkit.fluxcd.io"
	groupSource    = "source.toolkit.fluxcd.io"
	groupKustomize = "kustomize.toolkit.fluxcd.io"
	groupPlain     = "kustomize.config.k8s.io" // of kustomization.yaml

	kindRelease       = "HelmRelease"
	kindKustomization = "Kustomization"
	kindHelmSource    = "HelmRepository"
	kindGitSource     = "GitRepository"
)

// fluxApp is objects of Flux in the making of a bundle.
type fluxApp struct {
	*layout
	objects []object
	// after are, by file and line of a HelmRelease, the Kustomizations that its own depends on.
	after map[string][]string
	// of are the names of the HelmReleases in each Kustomization.
	of   map[string][]string
	read map[string]bool   // files
	git  map[string]string // addresses of GitRepositories, by name
	oci  map[string]ociChart
}

// flux lays out HelmReleases and what they need, with the directories that Kustomizations apply, in
// the one namespace that the lane looks in.
func (l *layout) flux(a *App) error {
	f := &fluxApp{layout: l, after: map[string][]string{}, of: map[string][]string{}, read: map[string]bool{}, git: map[string]string{}, oci: map[string]ociChart{}}
	if err := f.gather(a.objects, object{}, 0); err != nil {
		return err
	}
	for _, o := range f.objects {
		if o.kind() == kindGitSource && o.group() == groupSource {
			f.git[o.name()] = yamlx.Text(o.node, "spec", "url")
		}
		if o.kind() == kindOCISource && o.group() == groupSource {
			c, err := f.ociSource(o)
			if err != nil {
				return err
			}
			f.oci[o.name()] = c
		}
	}
	names := map[string]string{}
	var resources []string
	for i, o := range f.objects {
		if o.kind() == kindGitSource && o.group() == groupSource {
			continue // charts of this checkout are from the lane's own source
		}
		file := fmt.Sprintf("%03d-%s-%s.yaml", i, strings.ToLower(o.kind()), o.name())
		if err := nameable(o.name()); err != nil {
			return l.repo.bad(o, []string{"metadata", "name"}, "%w", err)
		}
		before := o
		o.node = yamlx.Clone(o.node)
		if ours := o.group() == groupHelm || o.group() == groupSource; ours {
			key := o.kind() + " " + o.name()
			if at, again := names[key]; again {
				return l.repo.bad(o, []string{"metadata", "name"}, "a second %s; the first is at %s, and the lane has all of them in the namespace %s: give them different names", key, at, bundle.FluxNamespace)
			}
			names[key] = l.repo.at(o)
			if err := l.allowed(o); err != nil {
				return err
			}
			if err := f.adapt(before, &o); err != nil {
				return err
			}
		}
		if err := l.put(file, o); err != nil {
			return err
		}
		resources = append(resources, "- "+file+"\n")
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n" + strings.Join(resources, "")
	return l.add(kustomizationFile, a.repo.start, []byte(text), map[int]int{})
}

// gather adds objects, and in place of a Kustomization those of its directory. Within is the
// Kustomization that objects are of.
func (f *fluxApp) gather(objects []object, within object, depth int) error {
	for _, o := range objects {
		if o.group() == groupPlain {
			if err := f.plain(o); err != nil {
				return err
			}
		}
	}
	for _, o := range objects {
		key := f.repo.at(o)
		switch {
		case f.read[key] || o.group() == groupPlain:
			continue
		case o.group() == groupKustomize:
			f.read[key] = true
			if depth > mostNested {
				return f.repo.bad(o, nil, "Kustomizations are nested more than %d deep", mostNested)
			}
			if err := f.kustomization(o, depth); err != nil {
				return err
			}
		default:
			f.read[key] = true
			if within.node != nil && o.kind() == kindRelease && o.group() == groupHelm {
				f.of[within.name()] = append(f.of[within.name()], o.name())
				f.after[key] = dependencies(within)
			}
			f.objects = append(f.objects, o)
		}
	}
	return nil
}

// dependencies are the names of what an object of Flux depends on.
func dependencies(o object) []string {
	var names []string
	if list := yamlx.Find(o.node, "spec", "dependsOn"); list != nil {
		for _, item := range list.Content {
			names = append(names, yamlx.Text(item, "name"))
		}
	}
	return names
}

// kustomization gathers the objects of a Kustomization's directory.
func (f *fluxApp) kustomization(o object, depth int) error {
	if err := f.allowed(o); err != nil {
		return err
	}
	spec := yamlx.Find(o.node, "spec")
	for _, key := range []string{"targetNamespace", "suspend"} {
		if n := yamlx.Find(spec, key); n != nil && n.Value != "false" {
			return f.repo.badAt(o, n, "spec.%s of Kustomization %s is not understood, and changes what is applied", key, o.name())
		}
	}
	if kind := yamlx.Text(spec, "sourceRef", "kind"); kind != kindGitSource {
		return f.repo.bad(o, []string{"spec", "sourceRef"}, "the source of Kustomization %s is a %s; want a GitRepository, which is this checkout", o.name(), kind)
	}
	dir := path.Clean(strings.TrimPrefix(yamlx.Text(spec, "path"), "/"))
	if !f.repo.hasDir(dir) {
		return f.repo.bad(o, []string{"spec", "path"}, "path %q of Kustomization %s is no directory of this repository", yamlx.Text(spec, "path"), o.name())
	}
	inner, err := f.repo.objects(dir)
	if err != nil {
		return err
	}
	f.override("Kustomization %s (%s) is replaced by the objects in %s; its HelmReleases wait for those of the Kustomizations that it depends on", o.name(), f.repo.at(o), f.repo.shown(dir))
	return f.gather(inner, o, depth+1)
}

// plain refuses a kustomization.yaml that changes its resources, or that has others than the files
// below its directory.
func (f *fluxApp) plain(o object) error {
	for _, key := range yamlx.Keys(o.node) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "resources"}, key) {
			return f.repo.bad(o, []string{key}, "%s of Kustomize is not understood, and changes what is applied; want resources only", key)
		}
	}
	dir := path.Dir(o.file)
	list := yamlx.Find(o.node, "resources")
	var named []string
	for i := 0; list != nil && i < len(list.Content); i++ {
		name := path.Join(dir, list.Content[i].Value)
		if strings.Contains(list.Content[i].Value, "://") || !strings.HasPrefix(name, strings.TrimPrefix(dir+"/", "./")) || !f.repo.has(name) && !f.repo.hasDir(name) {
			return f.repo.badAt(o, list.Content[i], "resource %s is no file or directory below %s", list.Content[i].Value, f.repo.shown(dir))
		}
		named = append(named, name)
	}
	files, err := f.repo.walk(dir, nil)
	if err != nil {
		return err
	}
	for _, file := range files {
		listed := slices.ContainsFunc(named, func(n string) bool { return file == n || strings.HasPrefix(file, n+"/") })
		if ext := path.Ext(file); listed || file == o.file || ext != ".yaml" && ext != ".yml" {
			continue
		}
		docs, err := f.repo.documents(file)
		if err != nil {
			return err
		}
		for _, d := range docs { // Kustomize leaves it out
			f.read[f.repo.at(d)] = true
		}
	}
	return nil
}

// adapt puts an object of Flux into the lane's namespace.
func (f *fluxApp) adapt(before object, o *object) error {
	meta, spec := child(o.node, "metadata"), child(o.node, "spec")
	namespace := yamlx.Text(meta, "namespace")
	yamlx.Set(meta, "namespace", "!!str", bundle.FluxNamespace)
	if o.kind() == kindOCISource && o.group() == groupSource {
		helmRepository(o, f.oci[o.name()])
		return nil
	}
	if namespace == "" {
		namespace = "default"
	}
	if o.kind() != kindRelease || o.group() != groupHelm {
		return nil
	}
	if n := yamlx.Find(spec, "suspend"); n != nil {
		return f.repo.badAt(*o, n, "spec.suspend of HelmRelease %s: Flux would not install it", o.name())
	}
	target := yamlx.Text(spec, "targetNamespace")
	if yamlx.Text(spec, "releaseName") == "" {
		yamlx.Set(spec, "releaseName", "!!str", bundle.FluxReleaseName(target, o.name()))
	}
	if target == "" {
		yamlx.Set(spec, "targetNamespace", "!!str", namespace)
		target = namespace
	}
	if yamlx.Text(spec, "storageNamespace") == "" {
		yamlx.Set(spec, "storageNamespace", "!!str", namespace)
	}
	if namespace != bundle.FluxNamespace {
		f.override("HelmRelease %s is in %s in place of %s; its release is in %s all the same", o.name(), bundle.FluxNamespace, namespace, target)
	}
	if install := child(spec, "install"); yamlx.Text(install, "createNamespace") != "true" {
		yamlx.Set(install, "createNamespace", "!!bool", "true")
		f.override("HelmRelease %s creates its namespace (install.createNamespace)", o.name())
	}
	f.dependsOn(before, spec)
	if from := yamlx.Find(spec, "valuesFrom"); from != nil && namespace != bundle.FluxNamespace {
		return f.repo.badAt(*o, from, "HelmRelease %s has values from objects in the namespace %s: only those in %s are understood", o.name(), namespace, bundle.FluxNamespace)
	}
	return f.chartOf(o, spec)
}

// dependsOn adds the HelmReleases of the Kustomizations that come before.
func (f *fluxApp) dependsOn(before object, spec *yamlv3.Node) {
	list := yamlx.Find(spec, "dependsOn")
	known := map[string]bool{}
	for i := 0; list != nil && i < len(list.Content); i++ {
		yamlx.Drop(list.Content[i], "namespace")
		known[yamlx.Text(list.Content[i], "name")] = true
	}
	for _, k := range f.after[f.repo.at(before)] {
		for _, name := range f.of[k] {
			if known[name] {
				continue
			}
			if list == nil {
				list = &yamlv3.Node{Kind: yamlv3.SequenceNode, Tag: "!!seq"}
				spec.Content = append(spec.Content, scalar("dependsOn"), list)
			}
			known[name] = true
			list.Content = append(list.Content, &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Content: []*yamlv3.Node{scalar("name"), scalar(name)}})
		}
	}
}

// chartOf lays out the chart of a HelmRelease if it is in the repository.
func (f *fluxApp) chartOf(o *object, spec *yamlv3.Node) error {
	chart := yamlx.Find(spec, "chart", "spec")
	if ref := yamlx.Find(spec, "chartRef"); chart == nil && ref != nil {
		return f.chartRef(o, spec, ref)
	}
	if chart == nil {
		return f.repo.badAt(*o, spec, "HelmRelease %s has no chart: want spec.chart or spec.chartRef", o.name())
	}
	ref := child(chart, "sourceRef")
	yamlx.Drop(ref, "namespace")
	switch kind := yamlx.Text(ref, "kind"); kind {
	case kindHelmSource:
		if err := exact(yamlx.Text(chart, "version")); err != nil {
			return f.repo.badAt(*o, under(chart, "version"), "chart of HelmRelease %s: %w", o.name(), err)
		}
		return nil
	case kindGitSource:
		if address, ok := f.git[yamlx.Text(ref, "name")]; ok && !f.repo.own(address) {
			return f.repo.badAt(*o, ref, "chart of HelmRelease %s: %s", o.name(), f.repo.notOwn(address))
		}
	default:
		return f.repo.badAt(*o, ref, "the chart of HelmRelease %s is from a %s; want a HelmRepository or a GitRepository", o.name(), kind)
	}
	dir := path.Clean(strings.TrimPrefix(yamlx.Text(chart, "chart"), "/"))
	if !f.repo.has(path.Join(dir, chartFile)) {
		return f.repo.badAt(*o, under(chart, "chart"), "chart %q of HelmRelease %s is no chart of this repository", yamlx.Text(chart, "chart"), o.name())
	}
	to := "charts/" + o.name()
	if err := f.chart(dir, to); err != nil {
		return err
	}
	yamlx.Set(chart, "chart", "!!str", "./"+to)
	yamlx.Drop(chart, "version")
	yamlx.Set(ref, "name", "!!str", bundle.FluxSource)
	return nil
}
