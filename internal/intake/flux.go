package intake

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const kustomizationFile = "kustomization.yaml"

// fluxForm is a kustomization.yaml with HelmReleases, their sources and ArtifactGenerators.
type fluxForm struct {
	tree *tree
	// files are the documents that kustomization.yaml has applied, by file; order has the files in
	// its order.
	files map[string][]*yamlv3.Node
	order []string
	list  []unit
	// sources are the places of HelmRepositories by name; artifacts the directories behind
	// ExternalArtifacts.
	sources    map[string]string
	artifacts  map[string]string
	generators []bundle.Delivered
	// git: the bundle is in a Git repository. repositories are the GitRepositories that it has of
	// itself, by name.
	git          bool
	repositories map[string]bool
	// stores are the ConfigMaps and Secrets that HelmReleases may have their values from.
	stores map[string]*fluxStore
	// charts are the charts that OCIRepositories have, by name.
	charts map[string]fluxChart
}

func (f *fluxForm) units() []unit                      { return f.list }
func (f *fluxForm) place(in bundle.Input) bundle.Input { return in }

func fluxRef(group, kind, name string) result.Ref {
	return result.Ref{Group: group, Kind: kind, Namespace: bundle.FluxNamespace, Name: name}
}

const (
	groupHelm      = "helm.toolkit.fluxcd.io"
	groupSource    = "source.toolkit.fluxcd.io"
	groupKustomize = "kustomize.toolkit.fluxcd.io"
	groupExtension = "source.extensions.fluxcd.io"
)

// own is the source that the lane makes, which has the bundle.
func (f *fluxForm) own() result.Ref {
	if f.git {
		return fluxRef(groupSource, kindGit, bundle.FluxSource)
	}
	return fluxRef(groupSource, kindOCI, bundle.FluxSource)
}

const kindGit = "GitRepository"

// readFlux also gives what the bundle applies that nothing here verifies.
func readFlux(t *tree, git bool) (form, []string, error) {
	f := &fluxForm{tree: t, files: map[string][]*yamlv3.Node{}, sources: map[string]string{}, artifacts: map[string]string{}, git: git, repositories: map[string]bool{bundle.FluxSource: git}, stores: map[string]*fluxStore{}, charts: map[string]fluxChart{}}
	if err := f.resources(); err != nil {
		return nil, nil, err
	}
	source := f.own()
	var unknown []string
	var others []*fluxStore
	type found struct {
		file string
		node *yamlv3.Node
	}
	var releases []found
	for _, name := range f.order {
		for _, n := range f.files[name] {
			kind, object, group := yamlx.Text(n, "kind"), yamlx.Text(n, "metadata", "name"), strings.Split(yamlx.Text(n, "apiVersion"), "/")[0]
			ours := group == groupHelm || group == groupSource || group == groupExtension
			if ns := yamlx.Text(n, "metadata", "namespace"); ours && ns != bundle.FluxNamespace {
				return nil, nil, t.bad(name, yamlx.LineOf(n, "metadata", "namespace"), "%s %s is in the namespace %q; the lane looks in %s: generate the bundle without --flux-namespace", kind, object, ns, bundle.FluxNamespace)
			}
			if ours {
				if err := t.fields(name, n, false); err != nil {
					return nil, nil, err
				}
			}
			switch group + "/" + kind {
			case groupHelm + "/HelmRelease":
				releases = append(releases, found{name, n})
			case groupSource + "/" + kindOCI:
				if err := f.chartSource(name, n); err != nil {
					return nil, nil, err
				}
				f.generators = append(f.generators, bundle.Delivered{Ref: fluxRef(groupSource, kind, object)})
			case groupSource + "/HelmRepository":
				f.sources[object] = yamlx.Text(n, "spec", "url")
			case groupExtension + "/ArtifactGenerator":
				if err := f.generator(name, n); err != nil {
					return nil, nil, err
				}
				f.generators = append(f.generators, bundle.Delivered{Ref: fluxRef(groupExtension, kind, object), DependsOn: []result.Ref{source}})
			default:
				if ours && git && kind == kindGit {
					f.repositories[object] = true
					f.generators = append(f.generators, bundle.Delivered{Ref: fluxRef(groupSource, kind, object)})
					continue
				}
				if ours {
					return nil, nil, t.bad(name, n.Line, "%s %s is not understood: a bundle that is pulled from an OCI registry has HelmReleases, HelmRepositories and ArtifactGenerators; make it with an oci:// output, or run it in the lane %s", kind, object, bundle.FluxGit)
				}
				if err := t.reserved(name, n); err != nil {
					return nil, nil, err
				}
				others = append(others, &fluxStore{file: name, node: n})
				if key, ok := storeKey(n); ok {
					f.stores[key] = others[len(others)-1]
				}
			}
		}
	}
	for _, r := range releases {
		u, err := f.release(r.file, r.node)
		if err != nil {
			return nil, nil, err
		}
		f.list = append(f.list, u)
	}
	for _, o := range others {
		if !o.used {
			unknown = append(unknown, fmt.Sprintf("bundle: %s %s (%s) is applied, and nothing here verifies it", yamlx.Text(o.node, "kind"), yamlx.Text(o.node, "metadata", "name"), t.at(o.file, o.node.Line)))
		}
	}
	return f, unknown, f.sort()
}

// resources reads kustomization.yaml and what it names. Another field of it would change what is
// applied.
func (f *fluxForm) resources() error {
	t := f.tree
	if _, ok := t.files[kustomizationFile]; !ok {
		return t.bad("", 0, "not a bundle for the lanes of Flux: it has no %s%s", kustomizationFile, guessNote(t.names()))
	}
	docs, err := t.documents(kustomizationFile)
	if err != nil {
		return err
	}
	if len(docs) != 1 {
		return t.bad(kustomizationFile, 0, "want one document")
	}
	for _, key := range yamlx.Keys(docs[0]) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "resources"}, key) {
			return t.bad(kustomizationFile, yamlx.LineOf(docs[0], key), "%s is not understood, and may change what is applied; want resources only", key)
		}
	}
	list := yamlx.Find(docs[0], "resources")
	if list == nil || list.Kind != yamlv3.SequenceNode {
		return t.bad(kustomizationFile, docs[0].Line, "it has no resources")
	}
	for _, item := range list.Content {
		name, err := t.inside(kustomizationFile, item.Line, "", item.Value)
		if err != nil {
			return err
		}
		if _, ok := t.files[name]; !ok {
			return t.bad(kustomizationFile, item.Line, "resource %s is not a file of the bundle", item.Value)
		}
		if _, again := f.files[name]; again {
			return t.bad(kustomizationFile, item.Line, "resource %s is named twice", item.Value)
		}
		if f.files[name], err = t.documents(name); err != nil {
			return err
		}
		f.order = append(f.order, name)
	}
	return nil
}

// generator finds the directories that an ArtifactGenerator copies out of the bundle.
func (f *fluxForm) generator(file string, n *yamlv3.Node) error {
	artifacts := yamlx.Find(n, "spec", "artifacts")
	for i := 0; artifacts != nil && i < len(artifacts.Content); i++ {
		a := artifacts.Content[i]
		copies := yamlx.Find(a, "copy")
		if copies == nil || len(copies.Content) != 1 {
			return f.tree.bad(file, a.Line, "artifact %s is not understood: want one copy of one directory of the bundle", yamlx.Text(a, "name"))
		}
		from := yamlx.Text(copies.Content[0], "from")
		alias, dir, ok := strings.Cut(from, "/")
		if !ok || !strings.HasPrefix(alias, "@") || !strings.HasSuffix(dir, "/**") {
			return f.tree.bad(file, copies.Content[0].Line, "from: %s is not understood; want @ALIAS/DIRECTORY/**", from)
		}
		at, err := f.tree.inside(file, copies.Content[0].Line, "", strings.TrimSuffix(dir, "/**"))
		if err != nil {
			return err
		}
		f.artifacts[yamlx.Text(a, "name")] = at
	}
	return nil
}

// releaseFields are those of a HelmRelease's spec that do not change what is installed, and those
// that are read.
func releaseFields() []string {
	return append(helmReleaseFields(),
		"interval", "timeout", "releaseName", "targetNamespace", "storageNamespace", "install", "upgrade", "uninstall", "rollback", "maxHistory",
		"chart", "chartRef", "values", "valuesFrom", "dependsOn", "driftDetection", "test", "healthCheckExprs",
	)
}

func (f *fluxForm) release(file string, n *yamlv3.Node) (unit, error) {
	t, spec := f.tree, yamlx.Find(n, "spec")
	place := func(line int) recipe.Origin { return t.at(file, line) }
	u := unit{name: yamlx.Text(n, "metadata", "name"), namespace: cmp.Or(yamlx.Text(spec, "targetNamespace"), bundle.FluxNamespace), at: place(n.Line), after: []string{}}
	u.ref, u.flux = fluxRef(groupHelm, "HelmRelease", u.name), &fluxUnit{}
	u.values = valueSet{values: map[string]any{}, origins: t.noOrigins()}
	bad := func(key string, format string, args ...any) (unit, error) {
		return u, t.bad(file, yamlx.LineOf(n, "spec", key), format, args...)
	}
	for _, key := range yamlx.Keys(spec) {
		if !slices.Contains(releaseFields(), key) {
			return bad(key, "spec.%s of HelmRelease %s is not understood, and may change what is installed", key, u.name)
		}
	}
	if name := helmReleaseName(n); name != u.name {
		u.helmName = name
	}
	if ref := yamlx.Find(spec, "chartRef"); yamlx.Text(ref, "kind") == kindOCI {
		source, ok := f.charts[yamlx.Text(ref, "name")]
		if !ok {
			return bad("chartRef", "HelmRelease %s has its chart from OCIRepository %s, which the bundle lacks", u.name, yamlx.Text(ref, "name"))
		}
		u.repo, u.chart, u.version, u.flux.source = source.repo, source.chart, source.version, yamlx.Text(ref, "name")
		u.dependsOn = append(u.dependsOn, fluxRef(groupSource, kindOCI, u.flux.source))
	} else if ref != nil {
		dir, ok := f.artifacts[yamlx.Text(ref, "name")]
		if yamlx.Text(ref, "kind") != "ExternalArtifact" || !ok {
			return bad("chartRef", "HelmRelease %s has its chart from %s %s, which no ArtifactGenerator of the bundle makes", u.name, yamlx.Text(ref, "kind"), yamlx.Text(ref, "name"))
		}
		if err := t.localChart(&u, dir); err != nil {
			return u, err
		}
		u.dependsOn = append(u.dependsOn, f.generatorOf(yamlx.Text(ref, "name")))
	} else if chart := yamlx.Find(spec, "chart", "spec"); f.git && yamlx.Text(chart, "sourceRef", "kind") == kindGit {
		repository := yamlx.Text(chart, "sourceRef", "name")
		if !f.repositories[repository] || yamlx.Find(chart, "valuesFiles") != nil {
			return bad("chart", "the chart of HelmRelease %s is not understood: want a directory of a GitRepository of the bundle, without valuesFiles", u.name)
		}
		dir, err := t.inside(file, yamlx.LineOf(chart, "chart"), "", path.Clean(yamlx.Text(chart, "chart")))
		if err != nil {
			return u, err
		}
		if err := t.localChart(&u, dir); err != nil {
			return u, err
		}
		u.dependsOn = append(u.dependsOn, fluxRef(groupSource, kindGit, repository))
	} else {
		url, ok := f.sources[yamlx.Text(chart, "sourceRef", "name")]
		if yamlx.Text(chart, "sourceRef", "kind") != "HelmRepository" || !ok || yamlx.Text(chart, "valuesFiles") != "" || yamlx.Find(chart, "valuesFiles") != nil {
			return bad("chart", "the chart of HelmRelease %s is not understood: want one of a HelmRepository of the bundle, without valuesFiles", u.name)
		}
		u.repo, u.chart, u.version = url, path.Base(yamlx.Text(chart, "chart")), yamlx.Text(chart, "version")
	}
	if yamlx.Text(spec, "test", "enable") == "true" {
		t.notes = append(t.notes, fmt.Sprintf("%s: Flux runs the chart's tests of HelmRelease %s (spec.test.enable), whose pods succeed here whatever they do", t.at(file, yamlx.LineOf(n, "spec", "test")), u.name))
	}
	u.flux.within = helmReleaseWaits(spec)
	var err error
	if u.flux.post, err = helmReleasePost(spec, place); err != nil {
		return u, t.bad(file, helmReleaseLine(err), "HelmRelease %s: %w", u.name, err)
	}
	u.flux.place = func(step int, field string, index int) recipe.Origin {
		return place(helmReleasePostLine(spec, step, field, index))
	}
	v, err := f.valuesFrom(file, u.name, yamlx.Find(spec, "valuesFrom"))
	if err != nil {
		return u, err
	}
	inline, err := valuesAt(yamlx.Find(spec, "values"), place)
	if err != nil {
		return bad("values", "values of HelmRelease %s: %w", u.name, err)
	}
	v.over(inline)
	u.values.over(v)
	if u.local != nil && len(v.values) > 0 {
		u.withValues()
	}
	return u, f.dependsOn(&u, file, yamlx.Find(spec, "dependsOn"))
}

func (f *fluxForm) dependsOn(u *unit, file string, list *yamlv3.Node) error {
	for i := 0; list != nil && i < len(list.Content); i++ {
		name := yamlx.Text(list.Content[i], "name")
		if ns := yamlx.Text(list.Content[i], "namespace"); name == "" || ns != "" && ns != bundle.FluxNamespace {
			return f.tree.bad(file, list.Content[i].Line, "HelmRelease %s depends on something that is not understood: want the name of a HelmRelease in %s", u.name, bundle.FluxNamespace)
		}
		u.after = append(u.after, name)
		u.dependsOn = append(u.dependsOn, fluxRef(groupHelm, "HelmRelease", name))
	}
	return nil
}

// generatorOf is the ArtifactGenerator of an artifact: AICR's bundles have one for each, of the
// same name.
func (f *fluxForm) generatorOf(artifact string) result.Ref {
	for _, g := range f.generators {
		if g.Name == artifact {
			return g.Ref
		}
	}
	return fluxRef(groupExtension, "ArtifactGenerator", artifact)
}

// sort puts every release behind those that it depends on; otherwise they keep their order.
func (f *fluxForm) sort() error {
	var sorted []unit
	placed := map[string]bool{}
	known := map[string]bool{}
	for _, u := range f.list {
		known[u.name] = true
	}
	for rest := f.list; len(rest) > 0; {
		i := slices.IndexFunc(rest, func(u unit) bool {
			return !slices.ContainsFunc(u.after, func(name string) bool { return known[name] && !placed[name] })
		})
		if i < 0 {
			return &recipe.FileError{File: rest[0].at.File, Line: rest[0].at.Line, Err: fmt.Errorf("HelmRelease %s and others depend on each other in a circle", rest[0].name)}
		}
		for _, name := range rest[i].after {
			if !known[name] {
				return &recipe.FileError{File: rest[i].at.File, Line: rest[i].at.Line, Err: fmt.Errorf("HelmRelease %s depends on %s, which is not in the bundle", rest[i].name, name)}
			}
		}
		placed[rest[i].name] = true
		sorted = append(sorted, rest[i])
		rest = slices.Delete(slices.Clone(rest), i, i+1)
	}
	f.list = sorted
	return nil
}

// fit points the HelmRepositories to the cell's registry, where a version is spelled as its chart
// spells it.
func (f *fluxForm) fit(_ context.Context, in bundle.Input, b *bundle.Bundle) error {
	var err error
	others := map[string][]byte{}
	for _, name := range f.order {
		var docs []*yamlv3.Node
		for _, n := range f.files[name] {
			n = yamlx.Clone(n)
			switch yamlx.Text(n, "kind") {
			case "HelmRepository":
				spec := yamlx.Find(n, "spec")
				yamlx.Set(spec, "url", "!!str", strings.TrimSuffix(in.ChartRepository, "/"))
				yamlx.Set(spec, "type", "!!str", "oci")
				yamlx.Set(spec, "insecure", "!!bool", "true")
				yamlx.Drop(spec, "secretRef")
			case kindOCI:
				f.fitChart(n, in, b)
			case kindGit:
				spec := yamlx.Find(n, "spec")
				yamlx.Set(spec, "url", "!!str", in.RepoURL)
				if ref := yamlx.Find(spec, "ref"); ref != nil {
					ref.Content = nil
					yamlx.Set(ref, "branch", "!!str", in.TargetRevision)
				}
			case "HelmRelease":
				if chart := yamlx.Find(n, "spec", "chart", "spec"); chart != nil && yamlx.Text(chart, "sourceRef", "kind") != kindGit {
					r := releaseOf(b, yamlx.Text(n, "metadata", "name"))
					yamlx.Set(chart, "chart", "!!str", r.Chart)
					yamlx.Set(chart, "version", "!!str", r.ChartVersion)
				}
			}
			docs = append(docs, n)
		}
		if others[name], err = yamlx.Encode(docs); err != nil {
			return err
		}
	}
	b.Files = f.tree.replaced(others)
	source := f.own()
	list := []bundle.Delivered{{Ref: source}, {Ref: fluxRef(groupKustomize, "Kustomization", bundle.FluxKustomization(bundle.RecipeName(in.Recipe))), Root: true, DependsOn: []result.Ref{source}}}
	list = append(list, f.generators...)
	for _, u := range f.list {
		list = append(list, bundle.Delivered{Ref: u.ref, DependsOn: u.dependsOn})
	}
	b.Expectation.Delivered = list
	return nil
}
