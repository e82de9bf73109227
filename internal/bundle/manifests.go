package bundle

// manifests.go turns a recipe's Kustomize components into components with manifests, which
// every deployer delivers: what the kustomization makes, a manifest for each of its files that has
// objects. It knows recipes. It must not know bundles or deployers.

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// buildKustomization gives the components with the manifests of those that are of type Kustomize and were not
// built before. The list that was given stays as it is. Errors are *recipe.FileErrors, or ctx's.
func buildKustomization(ctx context.Context, components []recipe.Component) ([]recipe.Component, error) {
	renderer := &render.Renderer{}
	defer renderer.Close()
	built := components
	for i := range components {
		if k := components[i].Kustomization; k == nil || k.Places != nil {
			continue
		}
		made, err := buildKustomize(ctx, renderer, &components[i])
		if err != nil {
			return nil, err
		}
		if &built[0] == &components[0] {
			built = slices.Clone(components)
		}
		built[i] = *made
	}
	return built, nil
}

// kustomizeWarnings say what the recipe sets for a component that was built, and that has no effect.
func kustomizeWarnings(c *recipe.Component) []string {
	switch {
	case c.Kustomization != nil:
		return c.Kustomization.Warnings
	case len(c.Patches) > 0:
		return []string{c.Name + ": its patches have no effect: they are for components of type Kustomize"}
	}
	return nil
}

// kustomizeOverrides say what stands for the component's source; at most one line.
func kustomizeOverrides(c *recipe.Component) []string {
	if c.Kustomization == nil || c.Kustomization.InPlace == "" {
		return nil
	}
	return []string{c.Name + ": " + c.Kustomization.InPlace}
}

func buildKustomize(ctx context.Context, renderer *render.Renderer, c *recipe.Component) (*recipe.Component, error) {
	k := *c.Kustomization
	in := render.KustomizationInput{Dir: k.Dir, Files: map[string][]byte{}}
	for _, f := range k.Files {
		in.Files[f.Path] = f.Content
	}
	for _, p := range k.Patches {
		in.Patches = append(in.Patches, p.Entry)
	}
	out, err := renderer.Build(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		file, line := render.LocateInKustomization(in, err)
		return nil, &recipe.FileError{File: display(&k, file), Line: line, Err: fmt.Errorf("component %s: its kustomization does not build: %w", c.Name, err)}
	}
	if len(out.Objects) == 0 {
		return nil, &recipe.FileError{File: k.File, Err: fmt.Errorf("component %s: its kustomization makes no object; name files under resources", c.Name)}
	}
	made := *c
	made.Manifests = split(&k, out.Objects)
	k.Places = places(&k, out.Objects)
	k.Warnings = warningsFor(c, &k, out)
	made.Kustomization = &k
	// None of these reaches what Kustomize makes.
	made.Values, made.Origins, made.NodeScheduling = map[string]any{}, nil, recipe.NodeScheduling{}
	return &made, nil
}

// warningsFor says what the recipe sets and Kustomize does not see.
func warningsFor(c *recipe.Component, k *recipe.Kustomization, out *render.KustomizationOutput) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, c.Name+": "+fmt.Sprintf(format, args...)) }
	if n := len(c.Values); n > 1 || n == 1 && c.Values["enabled"] == nil {
		add("its values (valuesFile, overrides) have no effect: it is of type Kustomize; patch it instead")
	}
	s := c.NodeScheduling
	if paths := slices.Concat(s.System.NodeSelectorPaths, s.System.TolerationPaths, s.System.TaintStrPaths, s.Accelerated.NodeSelectorPaths, s.Accelerated.TolerationPaths, s.Accelerated.TaintStrPaths, s.NodeCountPaths); len(paths) > 0 {
		add("the scheduling paths of the registry (%s) have no effect: it is of type Kustomize, so its manifests and patches set selectors and tolerations", strings.Join(paths, ", "))
	}
	for _, i := range out.Unused {
		add("patch %s changes nothing: no object has its target, or all have what it sets", k.Patches[i].Origin)
	}
	for i := range out.Objects {
		if o := &out.Objects[i]; o.Kind == "Namespace" && o.Name == c.Namespace {
			add("its kustomization has Namespace %s, which Helm and Flux create for the component, and then reject because the release does not own it; leave it out, or give the component another namespace", o.Name)
		}
	}
	return all
}

// generated is the manifest of objects of which Kustomize names no file.
const generated = "kustomization.yaml"

// split makes a manifest of each file's objects. What a Helm template would take for an action is
// made text.
func split(k *recipe.Kustomization, objects []render.KustomizationObject) []recipe.Manifest {
	var all []recipe.Manifest
	for _, o := range objects {
		from := o.From
		if from == "" {
			from = path.Join(k.Dir, generated)
		}
		i := slices.IndexFunc(all, func(m recipe.Manifest) bool { return m.Path == yamlName(from) })
		if i < 0 {
			i = len(all)
			all = append(all, recipe.Manifest{Path: yamlName(from), File: display(k, from)})
		}
		all[i].Content = append(all[i].Content, "---\n"+escape(o.YAML)...)
	}
	return all
}

// yamlName is a name that Helm takes for a template's: not one without an extension, nor with an
// underscore in front.
func yamlName(file string) string {
	base := path.Base(file)
	switch path.Ext(base) {
	case ".yaml", ".yml", ".json":
	default:
		base += ".yaml"
	}
	if strings.HasPrefix(base, "_") || strings.EqualFold(base, "notes.txt.yaml") {
		base = "file" + base
	}
	return path.Join(path.Dir(file), base)
}

// escape keeps text from being taken for a template's.
func escape(text string) string { return strings.ReplaceAll(text, "{{", `{{ "{{" }}`) }

// display is the name by which a person opens a file of the kustomization.
func display(k *recipe.Kustomization, name string) string {
	for _, f := range k.Files {
		if f.Path == name {
			return f.File
		}
	}
	return k.File
}
