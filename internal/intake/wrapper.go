package intake

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// wrapperForm is a Helm chart that renders the Applications. This program renders it as Argo CD
// will, to read them.
type wrapperForm struct {
	tree     *tree
	chart    *chart.Chart
	root     application
	children []application
	// parent: the chart takes the address above its own, and appends its name.
	parent bool
}

func (f *wrapperForm) units() []unit { return (&applicationsForm{children: f.children}).units() }

// place: a chart is published under its own name and version.
func (f *wrapperForm) place(in bundle.Input) bundle.Input {
	in.RepoURL = path.Dir(strings.TrimPrefix(in.RepoURL, ociScheme))
	in.RepoURL = ociScheme + in.RepoURL + "/" + f.chart.Name()
	in.TargetRevision = f.chart.Metadata.Version
	return in
}

const ociScheme = "oci://"

// somewhere stands for the bundle's address while it is not known.
const somewhere = ociScheme + "bundle.invalid/aicr/"

func readWrapper(ctx context.Context, t *tree) (form, error) {
	if _, ok := t.files["Chart.yaml"]; !ok {
		return nil, t.bad("", 0, "not a bundle for the lane argocd-helm-oci: it has no Chart.yaml%s", guessNote(t.names()))
	}
	if err := t.noSources(); err != nil {
		return nil, err
	}
	t.replaceDevVersion()
	ch, err := t.chart(".")
	if err != nil {
		return nil, err
	}
	if _, err := semver.StrictNewVersion(ch.Metadata.Version); err != nil {
		return nil, t.bad("Chart.yaml", 0, "version %q: Helm finds a chart in a registry only under a semantic version: %w", ch.Metadata.Version, err)
	}
	f := &wrapperForm{tree: t, chart: ch}
	place := bundle.Input{RepoURL: somewhere + ch.Name(), TargetRevision: ch.Metadata.Version}
	if f.root, f.children, err = f.render(ctx, ch, place); err == nil {
		return f, nil
	}
	f.parent = true
	var again error
	if f.root, f.children, again = f.render(ctx, ch, place); again != nil {
		return nil, err
	}
	return f, nil
}

var devVersion = regexp.MustCompile(`(?m)^version: *["']?dev["']? *\r?$`)

// replaceDevVersion gives the bundle's chart a version that Helm takes. AICR's CLI writes its own
// version there, and one that was built from a checkout calls itself dev.
func (t *tree) replaceDevVersion() {
	f := t.files["Chart.yaml"]
	if changed := devVersion.ReplaceAll(f.Content, []byte("version: 0.0.0-dev")); !bytes.Equal(changed, f.Content) {
		f.Content = changed
		t.files["Chart.yaml"] = f
		t.notes = append(t.notes, t.at("Chart.yaml", 0).String()+" has the version dev, which Helm refuses; it was published as 0.0.0-dev")
	}
}

// values are those that the chart is installed with.
func (f *wrapperForm) values(in bundle.Input) map[string]any {
	url := in.RepoURL
	if f.parent {
		url = strings.TrimSuffix(url, "/"+f.chart.Name())
	}
	return map[string]any{"repoURL": url, "targetRevision": in.TargetRevision}
}

// render gives the root Application, and those that it makes of the same chart.
func (f *wrapperForm) render(ctx context.Context, ch *chart.Chart, in bundle.Input) (root application, children []application, err error) {
	renderer := &render.Renderer{}
	defer renderer.Close()
	first, err := f.applications(ctx, renderer, ch, f.values(in))
	if err != nil {
		return root, nil, err
	}
	isRoot := func(a application) bool {
		return yamlx.Text(a.node, "spec", "source", "repoURL") == in.RepoURL && path.Clean(yamlx.Text(a.node, "spec", "source", "path")) == "."
	}
	i := slices.IndexFunc(first, isRoot)
	if i < 0 {
		return root, nil, f.tree.bad("Chart.yaml", 0, "the chart renders no root Application, which is one with the chart itself as its source (repoURL %s, path .)", in.RepoURL)
	}
	root = first[i]
	all := slices.Delete(first, i, i+1)
	v, err := valuesAt(yamlx.Find(root.node, "spec", "source", "helm", "valuesObject"), func(int) recipe.Origin { return recipe.Origin{} })
	if inline := yamlx.Text(root.node, "spec", "source", "helm", "values"); err == nil && inline != "" {
		v.values, err = chartutil.ReadValues([]byte(inline))
	}
	if err != nil {
		return root, nil, f.tree.bad(root.file, 0, "values of the root Application: %w", err)
	}
	second, err := f.applications(ctx, renderer, ch, v.values)
	if err != nil {
		return root, nil, err
	}
	for _, a := range second {
		same := func(b application) bool {
			return yamlx.Text(a.node, "metadata", "name") == yamlx.Text(b.node, "metadata", "name")
		}
		if !isRoot(a) && !slices.ContainsFunc(all, same) {
			all = append(all, a)
		}
	}
	for i := range all {
		a := &all[i]
		if err := a.read(f.tree, in.RepoURL, func(int) recipe.Origin { return f.tree.at(a.file, 0) }); err != nil {
			return root, nil, err
		}
		f.findValues(a.file, &a.unit)
	}
	inWaves(all, false)
	return root, all, nil
}

// applications renders the chart. An object that is not an Application is an error: Argo CD would
// deploy it, and no check here covers it.
func (f *wrapperForm) applications(ctx context.Context, renderer *render.Renderer, ch *chart.Chart, values map[string]any) ([]application, error) {
	rel, err := renderer.Release(ctx, render.Request{Chart: ch, Values: values, Name: bundle.WrapperRelease(ch.Name()), Namespace: bundle.ArgoNamespace, APIVersions: chartutil.DefaultVersionSet})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, f.tree.bad("Chart.yaml", 0, "the chart of Applications does not render: %w", err)
	}
	if len(rel.Hooks) > 0 {
		return nil, f.tree.bad("Chart.yaml", 0, "the chart of Applications has hooks, such as %s; they are not understood here", rel.Hooks[0].Path)
	}
	var all []application
	for _, part := range strings.Split("\n"+rel.Manifest, "\n---\n") {
		docs, err := yamlx.Documents([]byte(part))
		if err != nil {
			return nil, f.tree.bad("Chart.yaml", 0, "the chart of Applications renders no YAML: %w", err)
		}
		file := "Chart.yaml"
		if m := sourceComment.FindStringSubmatch(part); m != nil {
			_, file, _ = strings.Cut(m[1], "/")
		}
		for _, d := range docs {
			if len(d.Content) == 1 && d.Content[0].Kind == yamlv3.MappingNode {
				if err := f.tree.applicationFields(file, d.Content[0], true); err != nil {
					return nil, err
				}
				all = append(all, application{file: file, node: d.Content[0]})
			}
		}
	}
	return all, nil
}

var sourceComment = regexp.MustCompile(`(?m)^# Source: (\S+)$`)

// findValues finds the file that an Application's values were taken from by its name and content,
// since the rendering does not name it. Those of the chart's own values.yaml that the template lays
// over them are to be filled in where the chart is installed.
func (f *wrapperForm) findValues(template string, u *unit) {
	f.findStatic(u)
	if u.local != nil {
		return
	}
	m := dynamicKey.FindSubmatch(f.tree.files[template].Content)
	if m == nil {
		return
	}
	all, err := f.tree.valuesFile(template, 0, chartutil.ValuesfileName)
	if err != nil {
		return
	}
	if own := all.below(string(m[1])); len(own.values) > 0 {
		maps.Copy(u.values.origins, own.origins)
		f.tree.filledIn(own.whole)
	}
}

// dynamicKey matches how a template of AICR's CLI takes the values of a release from the chart's own.
var dynamicKey = regexp.MustCompile(`\bindex \.Values "([^"]+)"`)

func (f *wrapperForm) findStatic(u *unit) {
	for _, name := range []string{"values/" + u.name + ".yaml", "static/" + u.name + ".yaml"} {
		if _, ok := f.tree.files[name]; !ok || u.local != nil {
			continue
		}
		if v, err := f.tree.valuesFile(name, 0, name); err == nil {
			u.values.origins, u.values.whole = v.origins, v.whole
			return
		}
	}
	if u.local == nil {
		u.values.origins, u.values.whole = f.tree.noOrigins(), u.at
	}
}

// fit writes the cell's registry into the templates, and makes sure of it by rendering them again.
func (f *wrapperForm) fit(ctx context.Context, in bundle.Input, b *bundle.Bundle) error {
	others := map[string][]byte{}
	change := func(file string, edit func([]byte) []byte) {
		content, ok := others[file]
		if !ok {
			content = f.tree.files[file].Content
		}
		others[file] = edit(content)
	}
	for _, a := range f.children {
		if r := releaseOf(b, a.unit.name); !r.Local {
			change(a.file, func(text []byte) []byte {
				return argoapi.RedirectTemplate(text, strings.TrimSuffix(in.ChartRepository, "/")+"/"+r.Chart, r.Tag())
			})
		}
	}
	for _, a := range append(slices.Clone(f.children), f.root) {
		if argoapi.BringTo(yamlx.Clone(a.node), &b.Expectation.Overrides) {
			change(a.file, argoapi.RetargetTemplate)
		}
	}
	b.Files = f.tree.replaced(others)
	ch, err := b.Chart("")
	if err != nil {
		return err
	}
	root, children, err := f.render(ctx, ch, in)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return f.tree.bad("Chart.yaml", 0, "the sources of its Applications cannot be changed to the cell's registry; want repoURL, chart and targetRevision as literals, one a line: %w", err)
	}
	for _, a := range append(slices.Clone(children), root) {
		if changed := argoapi.Retarget(yamlx.Clone(a.node)); len(changed) > 0 {
			return f.tree.bad(a.file, 0, "the project and the cluster of Application %s cannot be changed to those of the cell; want spec.project, and spec.destination with server or name, one a line", yamlx.Text(a.node, "metadata", "name"))
		}
	}
	for _, a := range children {
		r := releaseOf(b, a.unit.name)
		at, want := a.unit.repo+"/"+a.unit.chart+" "+a.unit.version, strings.TrimSuffix(in.ChartRepository, "/")+"/"+r.Chart+" "+r.Tag()
		if !r.Local && at != want {
			return f.tree.bad(a.file, 0, "the source of Application %s cannot be changed to the cell's registry: it is %s and must be %s; want repoURL, chart and targetRevision as literals, one a line", a.unit.name, at, want)
		}
	}
	if len(children) != len(f.children) {
		return errors.New("the chart of Applications renders others for the cell's registry than before")
	}
	b.Foreign.Values = f.values(in)
	b.Expectation.Delivered = applicationsDelivered(yamlx.Text(root.node, "metadata", "name"), f.children)
	return nil
}
