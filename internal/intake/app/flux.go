package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const (
	groupHelm      = "helm.toolkit.fluxcd.io"
	groupSource    = "source.toolkit.fluxcd.io"
	groupKustomize = "kustomize.toolkit.fluxcd.io"
	groupPlain     = "kustomize.config.k8s.io" // of kustomization.yaml

	groupFlux     = ".toolkit.fluxcd.io"     // as the groups of Flux's other controllers end
	groupOperator = "fluxcd.controlplane.io" // of the operator that installs Flux

	kindRelease       = "HelmRelease"
	kindKustomization = "Kustomization"
	kindComponent     = "Component" // of Kustomize
	kindHelmSource    = "HelmRepository"
	kindGitSource     = "GitRepository"
	kindHelmChart     = "HelmChart"
)

// fluxApp is objects of Flux in the making of a bundle.
type fluxApp struct {
	*layout
	lane    string
	objects []object
	// within are, by the object of a HelmRelease, the keys of Kustomizations; graph has these.
	within map[*yamlv3.Node]string
	graph  fluxapi.DependencyGraph
	// of are the names of the HelmReleases in each Kustomization, by its key.
	of   map[string][]string
	read map[string]bool     // objects, by place and name
	urls map[string]string   // addresses of sources, by kind and name
	at   map[string][]string // namespaces of sources, likewise
	// values are the ConfigMaps and Secrets that may have values of HelmReleases; copies are those
	// that a HelmRelease has in the lane's namespace.
	values, copies []object
	oci            map[string]ociChart   // by the name of an OCIRepository
	packed         map[*yamlv3.Node]bool // HelmReleases that the layout made
	own            int                   // objects of Flux's own installation
	others         []string              // objects for controllers of Flux that deliver nothing
	// kustomizations are those of Flux, whose sources and dependencies are looked at at the end.
	kustomizations []object
	awaited        []awaited
	generators     []object          // of ExternalArtifacts
	artifacts      map[string]bool   // OCIRepositories that stand for this repository
	paused         map[string]string // places of suspended Kustomizations, by key
	given          map[string]bool   // Kustomizations of other repositories that are left out, by key
	git            map[string]string // addresses of GitRepositories, by namespace and name
	foreign        []error           // sources in repositories that are not here
	notChosen      map[string]bool   // HelmReleases that are left out by a selection
	// renamed are the names in the repository of HelmReleases that have another one in the lane.
	renamed map[*yamlv3.Node]string
	whole   fs.FS // the repository with what its artifact does not have
}

// flux lays out HelmReleases and what they need, and what else Kustomizations apply, in the one
// namespace that the lane looks in.
func (l *layout) flux(a *App, lane string) error {
	f := &fluxApp{layout: l, lane: lane, within: map[*yamlv3.Node]string{}, graph: fluxapi.DependencyGraph{}, of: map[string][]string{}, read: map[string]bool{}, urls: map[string]string{}, at: map[string][]string{}, oci: map[string]ociChart{}, artifacts: map[string]bool{}, paused: map[string]string{}, given: map[string]bool{}, git: map[string]string{}, packed: map[*yamlv3.Node]bool{}, renamed: map[*yamlv3.Node]string{}}
	above := f.above(a.repo.Start)
	if above != "" {
		f.unknown("%s", above)
	}
	err := f.lay(a)
	if err != nil && above != "" {
		err = fmt.Errorf("%w\n%s", err, above)
	}
	return err
}

// lay does it.
func (f *fluxApp) lay(a *App) error {
	l := f.layout
	var within object
	if a.plain {
		within = l.kustomizationOf(a)
	} else if err := f.asArtifact(a.objects); err != nil {
		return err
	}
	if err := f.gather(a.objects, within, 0); err != nil {
		return err
	}
	if err := f.inCircle(); err != nil {
		return err
	}
	f.ofHelmCharts()
	if err := f.renameNamesakes(); err != nil {
		return err
	}
	if err := f.addresses(); err != nil {
		return err
	}
	f.chartsOfOthers()
	if len(f.foreign) > 0 {
		return errors.Join(f.foreign...)
	}
	if err := f.suspended(); err != nil {
		return err
	}
	if err := f.dependenciesThere(); err != nil {
		return err
	}
	f.chosen()
	f.chartSources()
	if err := f.settleWaits(); err != nil {
		return err
	}
	if f.own > 0 {
		f.override("left out, since the lane runs Flux: %s of Flux's own installation", lists.Count(f.own, "object"))
	}
	f.applied = f.objects
	if len(f.others) > 0 {
		f.unknown("objects for controllers of Flux that the lane does not run, and what they would make, are left out: %s", strings.Join(lists.AtMost(f.others, 5), ", "))
	}
	names := map[string]string{}
	var resources []string
	for i, o := range f.objects {
		file := fmt.Sprintf("%03d-%s-%s.yaml", i, strings.ToLower(o.Kind()), o.Name())
		if err := nameable(o.Name()); err != nil {
			if strings.Contains(o.Name(), "${") {
				err = fmt.Errorf("%s %s has a variable of Flux, which the Kustomization of its directory replaces: pass the path of that", o.Kind(), o.Name())
			}
			return l.repo.Bad(o, []string{"metadata", "name"}, "%w", err)
		}
		before := o
		o.Node = yamlx.Clone(o.Node)
		if ours(o) {
			key := o.Kind() + " " + o.Name()
			if at, again := names[key]; again {
				return l.repo.Bad(o, []string{"metadata", "name"}, "a second %s; the first is at %s, and the lane has all of them in the namespace %s: pass the path of one cluster, or give them different names", key, at, bundle.FluxNamespace)
			}
			names[key] = l.repo.At(o)
			f.withoutLogin(o)
			if err := l.allowed(o); err != nil {
				return err
			}
			if f.packed[before.Node] {
				f.dependsOn(before, child(o.Node, "spec"))
			} else if err := f.adapt(before, &o); err != nil {
				return err
			}
		} else {
			l.Applied = append(l.Applied, o.Node)
		}
		if err := l.put(file, o); err != nil {
			return err
		}
		resources = append(resources, "- "+file+"\n")
	}
	for i, o := range f.copies {
		file := fmt.Sprintf("values-%03d.yaml", i)
		if err := l.put(file, o); err != nil {
			return err
		}
		resources = append(resources, "- "+file+"\n")
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n" + strings.Join(resources, "")
	return l.add(kustomizationFile, a.repo.Start, []byte(text), map[int]int{})
}

// ours reports whether an object is for Flux's controllers.
func ours(o object) bool { return o.Group() == groupHelm || o.Group() == groupSource }

// addresses notes the addresses of all sources, and leaves out those that the lane has of itself: Git
// repositories, since charts of this checkout are from the lane's own source, and a HelmRepository
// that several namespaces have.
func (f *fluxApp) addresses() error {
	var rest []object
	for _, o := range f.objects {
		key, url := o.Kind()+" "+o.Name(), addressOf(o)
		if o.Group() != groupSource {
			rest = append(rest, o)
			continue
		}
		before, again := f.urls[key]
		if again && before != url {
			return f.repo.Bad(o, []string{"spec", "url"}, "a second %s with another address; the lane has all of them in the namespace %s: pass the path of one cluster, or give them different names", key, bundle.FluxNamespace)
		}
		if isSuspended(o) {
			return f.repo.Bad(o, []string{"spec", "suspend"}, "%s %s is suspended: on a new cluster Flux never fetches it; resume it, or run a copy of the path", o.Kind(), o.Name())
		}
		f.urls[key] = url
		f.at[key] = append(f.at[key], f.namespaceOf(o))
		if o.Kind() == kindGitSource || again {
			continue
		}
		if o.Kind() == kindOCISource && f.artifacts[o.Name()] {
			continue
		}
		if o.Kind() == kindOCISource {
			c, err := f.ociSource(o)
			if err != nil {
				return err
			}
			f.oci[o.Name()] = c
		}
		rest = append(rest, o)
	}
	f.objects = rest
	for _, k := range f.kustomizations {
		if err := f.found(k, yamlx.Find(k.Node, "spec", "sourceRef"), f.namespaceOf(k)); err != nil {
			return err
		}
		name := yamlx.Text(k.Node, "spec", "sourceRef", "name")
		if url, ok := f.urls[kindGitSource+" "+name]; !ok && yamlx.Text(k.Node, "spec", "sourceRef", "kind") == kindGitSource {
			if err := f.sourceless(k, name); err != nil {
				return err
			}
		} else if ok && !f.repo.Here(url) {
			return f.repo.Bad(k, []string{"spec", "sourceRef"}, "Kustomization %s: %s", k.Name(), f.repo.NotOwn(url))
		}
	}
	return nil
}

// withoutLogin leaves out what a source needs to reach its repository: charts are from the cell's registry.
func (f *fluxApp) withoutLogin(o object) {
	spec := yamlx.Find(o.Node, "spec")
	if account := yamlx.Find(spec, "serviceAccountName"); account != nil && o.Group() == groupHelm {
		f.unknown("HelmRelease %s: whether its account %s may install its objects", o.Name(), account.Value)
		yamlx.Drop(spec, "serviceAccountName")
	}
	if o.Group() == groupSource {
		for _, text := range withoutLogin(o.Node) {
			f.unknown("%s", text)
		}
	}
}

// adapt puts an object of Flux into the lane's namespace.
func (f *fluxApp) adapt(before object, o *object) error {
	meta, spec := child(o.Node, "metadata"), child(o.Node, "spec")
	namespace := cmp.Or(yamlx.Text(meta, "namespace"), "default")
	yamlx.Set(meta, "namespace", "!!str", bundle.FluxNamespace)
	if o.Kind() != kindRelease || o.Group() != groupHelm {
		return nil
	}
	yamlx.Drop(spec, "suspend")
	target := yamlx.Text(spec, "targetNamespace")
	if yamlx.Text(spec, "releaseName") == "" {
		yamlx.Set(spec, "releaseName", "!!str", fluxapi.ReleaseName(target, o.Name()))
	}
	if target == "" {
		yamlx.Set(spec, "targetNamespace", "!!str", namespace)
		target = namespace
	}
	if yamlx.Text(spec, "storageNamespace") == "" {
		at := namespace
		if namespace != bundle.FluxNamespace {
			at = target // its own need not exist here; the release's does
		}
		yamlx.Set(spec, "storageNamespace", "!!str", at)
	}
	if namespace != bundle.FluxNamespace {
		f.override("HelmRelease %s is in %s instead of %s; its release stays in %s", o.Name(), bundle.FluxNamespace, namespace, target)
	}
	if file := f.namespace(before, yamlx.LineOf(before.Node, "metadata", "namespace"), namespace, false, "Flux cannot apply it: add the Namespace to the repository, before it"); file != "" {
		f.unknown("HelmRelease %s (%s) is in the namespace %s, which is in %s and not in this path", o.Name(), f.repo.At(before), namespace, file)
	}
	install := child(spec, "install")
	if file := f.namespace(before, cmp.Or(yamlx.LineOf(before.Node, "spec", "targetNamespace"), before.Node.Line), target, yamlx.Text(install, "createNamespace") == "true", "its installation fails: set spec.install.createNamespace, or add the Namespace to the repository"); file != "" {
		yamlx.Set(install, "createNamespace", "!!bool", "true")
		f.override("HelmRelease %s creates its namespace (install.createNamespace), which %s has", o.Name(), file)
	}
	if err := f.dependsFound(before, namespace); err != nil {
		return err
	}
	f.dependsOn(before, spec)
	exprs, err := f.expressions(*o)
	if err != nil {
		return err
	}
	withExpressions(spec, f.told(*o, exprs))
	if err := f.readable(*o, namespace, yamlx.Find(spec, "valuesFrom")); err != nil {
		return err
	}
	if from := yamlx.Find(spec, "valuesFrom"); from != nil {
		if err := f.stores(*o, namespace, from); err != nil {
			return err
		}
	}
	ref := yamlx.Find(spec, "chartRef")
	if chart := yamlx.Find(spec, "chart", "spec"); chart != nil {
		ref = child(chart, "sourceRef")
	}
	if err := f.found(*o, ref, namespace); err != nil {
		return err
	}
	return f.chartOf(o, spec)
}

// dependsOn adds the HelmReleases that are ready before Flux applies the Kustomization.
func (f *fluxApp) dependsOn(before object, spec *yamlv3.Node) {
	list := yamlx.Find(spec, "dependsOn")
	known := map[string]bool{}
	for i := 0; list != nil && i < len(list.Content); i++ {
		yamlx.Drop(list.Content[i], "namespace")
		known[yamlx.Text(list.Content[i], "name")] = true
	}
	for _, name := range f.graph.Before(f.within[before.Node]) {
		if known[name] || !slices.ContainsFunc(f.objects, func(o object) bool { return o.Kind() == kindRelease && o.Name() == name }) {
			continue
		}
		if list == nil {
			list = &yamlv3.Node{Kind: yamlv3.SequenceNode, Tag: "!!seq"}
			spec.Content = append(spec.Content, scalar("dependsOn"), list)
		}
		list.Content = append(list.Content, &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Content: []*yamlv3.Node{scalar("name"), scalar(name)}})
	}
}

// chartOf lays out the chart of a HelmRelease if it is in the repository.
func (f *fluxApp) chartOf(o *object, spec *yamlv3.Node) error {
	chart := yamlx.Find(spec, "chart", "spec")
	if ref := yamlx.Find(spec, "chartRef"); chart == nil && ref != nil {
		return f.chartRef(o, spec, ref)
	}
	if chart == nil {
		return f.repo.BadAt(*o, spec, "HelmRelease %s has no chart: want spec.chart or spec.chartRef", o.Name())
	}
	ref := child(chart, "sourceRef")
	yamlx.Drop(ref, "namespace")
	switch kind := yamlx.Text(ref, "kind"); kind {
	case "":
		return f.repo.Bad(*o, []string{"spec", "chart"}, "HelmRelease %s has no chart with a sourceRef: if it is a patch, pass the directory of the kustomization that has it", o.Name())
	case kindHelmSource:
		if _, there := f.urls[kindHelmSource+" "+yamlx.Text(ref, "name")]; !there {
			return f.repo.BadAt(*o, ref, "the chart of HelmRelease %s is from HelmRepository %s, which is not among these files: correct the name, or pass a path that has both", o.Name(), yamlx.Text(ref, "name"))
		}
		if n := yamlx.Find(chart, "valuesFiles"); n != nil {
			return f.repo.BadAt(*o, n, "valuesFiles of HelmRelease %s are in the archive of a chart from elsewhere, which is not read here: write their values under spec.values, or take the chart into this repository", o.Name())
		}
		v, err := version(yamlx.Text(chart, "version"))
		if err != nil {
			return f.repo.BadAt(*o, under(chart, "version"), "chart of HelmRelease %s: %w", o.Name(), err)
		}
		yamlx.Set(chart, "version", "!!str", v)
		return nil
	case kindGitSource:
	default:
		return f.repo.BadAt(*o, ref, "the chart of HelmRelease %s is from a %s; want a HelmRepository or a GitRepository", o.Name(), kind)
	}
	if f.lane == bundle.FluxOCI {
		return f.repo.BadAt(*o, ref, "the chart of HelmRelease %s is from a GitRepository, which the lane %s does not have: run it with -d %s", o.Name(), f.lane, bundle.FluxGit)
	}
	in, _ := f.repo.Elsewhere(f.urls[kindGitSource+" "+yamlx.Text(ref, "name")])
	dir := path.Join(in, path.Clean(strings.TrimPrefix(yamlx.Text(chart, "chart"), "/")))
	if !f.repo.Has(path.Join(dir, chartFile)) {
		return f.repo.BadAt(*o, under(chart, "chart"), "chart %q of HelmRelease %s is no chart of this repository", yamlx.Text(chart, "chart"), o.Name())
	}
	to := "charts/" + o.Name()
	if err := f.chart(dir, to); err != nil {
		return err
	}
	if err := f.valuesFiles(*o, chart, to); err != nil {
		return err
	}
	yamlx.Set(chart, "chart", "!!str", "./"+to)
	yamlx.Drop(chart, "version")
	yamlx.Set(ref, "name", "!!str", bundle.FluxSource)
	return nil
}

// stored is a Secret or ConfigMap with values that the cluster has, at the place that names it.
func stored(o object, at *yamlv3.Node, kind, namespace, name string, data map[string]string) object {
	entries := &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map"}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		entries.Content = append(entries.Content, scalar(key), scalar(data[key]))
	}
	meta := &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Content: []*yamlv3.Node{scalar("name"), scalar(name), scalar("namespace"), scalar(namespace)}}
	field := "data"
	if kind == "Secret" {
		field = "stringData"
	}
	n := &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Content: []*yamlv3.Node{scalar("apiVersion"), scalar("v1"), scalar("kind"), scalar(kind), scalar("metadata"), meta, scalar(field), entries}}
	shift(n, at.Line)
	return checkout.New(o.File, n)
}

// stores copies the ConfigMaps and Secrets with values of a HelmRelease into the lane's namespace,
// which is the only one that a HelmRelease there can read.
func (f *fluxApp) stores(o object, namespace string, from *yamlv3.Node) error {
	var read []*yamlv3.Node
	for _, item := range from.Content {
		kind, name := yamlx.Text(item, "kind"), yamlx.Text(item, "name")
		i := slices.IndexFunc(f.values, func(s object) bool {
			return s.Kind() == kind && s.Name() == name && yamlx.Text(s.Node, "metadata", "namespace") == namespace
		})
		there := i >= 0
		if there && fluxapi.IsEncrypted(f.values[i].Node) {
			i = -1 // the cluster file has it, or it is refused
		}
		if !there && yamlx.Text(item, "optional") == "true" && !f.cluster.says(kind, namespace, name) {
			f.override("HelmRelease %s has no values of %s %s/%s, which is optional, and which no file here has", o.Name(), kind, namespace, name)
			continue
		}
		var copied object
		if i >= 0 {
			copied = checkout.New(f.values[i].File, yamlx.Clone(f.values[i].Node))
		} else if data, said := f.cluster.Of(kind, namespace, name, cmp.Or(yamlx.Text(item, "valuesKey"), "values.yaml")); said {
			f.override("HelmRelease %s has values of %s %s/%s of the cluster file", o.Name(), kind, namespace, name)
			copied = stored(o, item, kind, namespace, name, data)
		} else {
			key := cmp.Or(yamlx.Text(item, "valuesKey"), "values.yaml")
			return f.repo.BadAt(o, item, "the values of HelmRelease %s are in %s %s/%s, which no file here has; %s", o.Name(), kind, namespace, name, clusterLine(kind, namespace, name, key))
		}
		if there && namespace == bundle.FluxNamespace || slices.ContainsFunc(f.values, func(s object) bool {
			return s.Kind() == kind && s.Name() == name && yamlx.Text(s.Node, "metadata", "namespace") != namespace
		}) { // the lane has one namespace, where this is delivered too, or that of another namespace is copied
			yamlx.Set(child(copied.Node, "metadata"), "name", "!!str", namespace+"."+name)
			yamlx.Set(item, "name", "!!str", namespace+"."+name)
		}
		if key := kind + "/" + namespace + "/" + name; !f.read[key] {
			f.read[key] = true
			yamlx.Set(child(copied.Node, "metadata"), "namespace", "!!str", bundle.FluxNamespace)
			f.copies = append(f.copies, copied)
		}
		read = append(read, item)
	}
	from.Content = read
	return nil
}
