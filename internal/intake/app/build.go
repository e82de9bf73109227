package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/kustomization"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// builder has Kustomize and Helm make objects, and executes templates, in processes without rights that it
// starts when they are first needed.
type builder struct {
	ctx       context.Context
	renderer  render.Renderer
	templates texttemplate.Renderer
}

// tellKey is the key of a context's value that Telling sets.
type tellKey struct{}

// Telling gives a context with which FindApp and the methods of an App say which directory they have Kustomize build, for
// people who wait for that. A repository of a hundred takes a minute.
func Telling(ctx context.Context, tell func(dir string)) context.Context {
	return context.WithValue(ctx, tellKey{}, tell)
}

func (b *builder) tell(dir string) {
	if tell, ok := b.ctx.Value(tellKey{}).(func(dir string)); ok {
		tell(dir)
	}
}

func (b *builder) close() {
	b.renderer.Close()
	b.templates.Close()
}

// overlay is what a deployer lays over a kustomization: patches, other fields of a kustomization, and
// directories of components.
type overlay struct {
	patches    []fluxPatch
	settings   map[string]any
	components []string
	at         recipe.Origin // what names the components
	// by is the deployer: render.EditFlux or render.EditArgo; empty for none. owner is its object, and place where that sets a field.
	by    string
	owner object
	place func(field string) recipe.Origin
}

// build gives what Kustomize makes of a directory, with what a deployer lays over it. The lines of each
// object are those of the file, or of the patch, that sets them.
func (l *layout) build(dir string, over overlay) ([]object, error) {
	r := checkout.Reader{Repository: l.repo}
	if len(over.components) > 0 {
		r.Name = l.repo.Kustomization(dir)
		content, err := l.repo.Read(r.Name)
		if err != nil {
			return nil, err
		}
		if r.Written, err = argoapi.WithComponents(content, over.components); err != nil {
			return nil, &recipe.FileError{File: l.repo.Shown(r.Name), Err: err}
		}
		made, err := l.buildOf(r, dir, over)
		if wrong := (*recipe.FileError)(nil); errors.As(err, &wrong) && wrong.File == l.repo.Shown(r.Name) && wrong.Line > bytes.Count(content, []byte("\n"))+1 {
			wrong.File, wrong.Line = over.at.File, over.at.Line // they are written behind its last line
		}
		return made, err
	}
	return l.buildOf(r, dir, over)
}

// unlisted is build for a directory without a kustomization.yaml: Flux writes one that lists what is
// below the directory.
func (l *layout) unlisted(dir string, over overlay) ([]object, error) {
	var resources []string
	list := func(name string) {
		resources = append(resources, strings.TrimPrefix(strings.TrimPrefix(name, dir), "/"))
	}
	names, err := l.repo.Walk(dir, func(name string) bool {
		listed := l.repo.HasKustomization(name) // which lists its files itself
		if listed {
			list(name)
		}
		return listed
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
			continue
		}
		found, other, err := l.repo.Parsed(name)
		switch {
		case err != nil:
			return nil, err
		case other != nil:
			return nil, l.repo.Bad(*other, nil, "a document without apiVersion or kind: of %s, which has no %s, Flux takes every YAML file for objects, and does not build it; list those that are objects in a %[2]s, or name this one in .sourceignore", l.repo.Shown(dir), kustomizationFile)
		case len(found) > 0:
			list(name)
		}
	}
	if len(resources)+len(over.components) == 0 {
		return nil, nil
	}
	made := map[string]any{"apiVersion": groupPlain + "/v1beta1", "kind": kindKustomization, "resources": resources}
	if len(over.components) > 0 {
		made["components"] = over.components
	}
	text, err := yaml.Marshal(made)
	if err != nil {
		return nil, err
	}
	name := path.Join(dir, kustomizationFile)
	all, err := l.buildOf(checkout.Reader{Repository: l.repo, Name: name, Written: text}, dir, over)
	if wrong := (*recipe.FileError)(nil); errors.As(err, &wrong) && wrong.File == l.repo.Shown(name) && over.at.File != "" {
		wrong.File, wrong.Line = over.at.File, over.at.Line // that file is only written here
	}
	return all, err
}

// replicasOf reports whether an error of Kustomize is about an entry of replicas.
func replicasOf(err error) bool {
	return strings.Contains(err.Error(), "resource with name ") && strings.Contains(err.Error(), " does not match a config")
}

func (l *layout) buildOf(r checkout.Reader, dir string, over overlay) ([]object, error) {
	files, problems := kustomization.Walk(r, dir)
	if len(problems) > 0 {
		p := problems[0]
		if p.File == "" {
			p.File = dir
		}
		if errors.Is(p.Err, kustomization.ErrOutside) {
			p.Err = fmt.Errorf("it names what is outside of the repository%s; no deployer reads that", l.repo.Only())
		}
		return nil, &recipe.FileError{File: l.repo.Shown(p.File), Line: p.Line, Err: p.Err}
	}
	in := render.KustomizationInput{Dir: dir, Files: map[string][]byte{}, Edit: over.by}
	if len(over.settings) > 0 {
		var err error
		if in.Settings, err = json.Marshal(over.settings); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		in.Files[f.Path] = f.Content
	}
	for _, p := range over.patches {
		in.Patches = append(in.Patches, p.Entry)
	}
	l.by.tell(l.repo.Shown(dir))
	out, err := l.by.renderer.Build(l.by.ctx, in)
	if err != nil {
		if l.by.ctx.Err() != nil {
			return nil, l.by.ctx.Err()
		}
		at, line := render.LocateInKustomization(in, err)
		if wrong := replicasOf(err); line == 0 && wrong && over.by != "" {
			place := over.place("replicas")
			return nil, &recipe.FileError{File: place.File, Line: place.Line, Err: fmt.Errorf("the kustomization in %s does not build with what %s %s sets: %w", l.repo.Shown(dir), over.owner.Kind(), over.owner.Name(), err)}
		}
		return nil, &recipe.FileError{File: l.repo.Shown(cmp.Or(at, l.repo.Kustomization(dir), dir)), Line: line, Err: fmt.Errorf("the kustomization in %s does not build: %w", l.repo.Shown(dir), err)}
	}
	l.idle.add(l.repo, dir, files, over, out.Unmatched)
	source := l.repo.Sources(files, over.patches)
	var all []object
	for _, made := range out.Objects {
		docs, err := yamlx.Documents([]byte(made.YAML))
		if err != nil || len(docs) != 1 || len(docs[0].Content) != 1 {
			return nil, errors.Join(fmt.Errorf("what Kustomize made of %s cannot be read: %s %s", l.repo.Shown(dir), made.Kind, made.Name), err)
		}
		o := object{File: made.From, Node: docs[0].Content[0]}
		if o.File == "" {
			o.File = cmp.Or(l.repo.Kustomization(dir), dir)
		}
		source.Mark(o)
		all = append(all, o)
	}
	return all, nil
}
