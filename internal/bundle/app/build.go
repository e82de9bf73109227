package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	charts "github.com/nvidia/aicr-action/internal/charts/kustomize"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/kustomize"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// builder has Kustomize and Helm make objects, in one process without rights that it starts when it
// is first needed.
type builder struct {
	ctx      context.Context
	renderer render.Renderer
}

// reader is the repository as a kustomization's files. It has one file more if written is not nil.
type reader struct {
	*repository
	name    string
	written []byte
}

func (r reader) Read(name string) ([]byte, error) {
	if r.written != nil && name == r.name {
		return r.written, nil
	}
	return r.read(name)
}

func (r reader) Stat(name string) (fs.FileInfo, error) {
	if r.written != nil && name == r.name {
		return writtenFile{path.Base(name), int64(len(r.written))}, nil
	}
	return fs.Lstat(r.fsys, name)
}

// writtenFile is a file that exists in memory only.
type writtenFile struct {
	name string
	size int64
}

func (f writtenFile) Name() string     { return f.name }
func (f writtenFile) Size() int64      { return f.size }
func (writtenFile) Mode() fs.FileMode  { return 0o444 }
func (writtenFile) ModTime() time.Time { return time.Time{} }
func (writtenFile) IsDir() bool        { return false }
func (writtenFile) Sys() any           { return nil }

// build gives what Kustomize makes of a directory, with patches of a Kustomization of Flux over it.
// The lines of each object are those of the file, or of the patch, that sets them.
func (l *layout) build(dir string, over []fluxPatch) ([]object, error) {
	return l.buildOf(reader{repository: l.repo}, dir, over)
}

// unlisted is build for a directory without a kustomization.yaml: Flux writes one that lists what is
// below the directory.
func (l *layout) unlisted(dir string, over []fluxPatch) ([]object, error) {
	var resources []string
	var inner string // a directory of Kustomize, whose files it lists itself
	names, err := l.repo.walk(dir, func(name string) bool { return strings.HasPrefix(path.Base(name), ".") })
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		at := path.Dir(name)
		ext := path.Ext(name)
		switch {
		case inner != "" && below(inner, at):
			continue
		case at != dir && l.repo.hasKustomization(at):
			inner = at
			resources = append(resources, strings.TrimPrefix(at, dir+"/"))
			continue
		case ext != ".yaml" && ext != ".yml":
			continue
		}
		found, err := l.repo.documents(name)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			resources = append(resources, strings.TrimPrefix(name, dir+"/"))
		}
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": groupPlain + "/v1beta1", "kind": kindKustomization, "resources": resources})
	if err != nil {
		return nil, err
	}
	return l.buildOf(reader{l.repo, path.Join(dir, kustomizationFile), text}, dir, over)
}

func (l *layout) buildOf(r reader, dir string, over []fluxPatch) ([]object, error) {
	files, problems := kustomize.Walk(r, dir)
	if len(problems) > 0 {
		p := problems[0]
		if p.File == "" {
			p.File = dir
		}
		return nil, &recipe.FileError{File: l.repo.shown(p.File), Line: p.Line, Err: p.Err}
	}
	in := charts.Input{Dir: dir, Files: map[string][]byte{}}
	for _, f := range files {
		in.Files[f.Path] = f.Content
	}
	for _, p := range over {
		in.Patches = append(in.Patches, p.entry)
	}
	out, err := l.by.renderer.Build(l.by.ctx, in)
	if err != nil {
		if l.by.ctx.Err() != nil {
			return nil, l.by.ctx.Err()
		}
		return nil, &recipe.FileError{File: l.repo.shown(cmp.Or(l.repo.kustomization(dir), dir)), Err: fmt.Errorf("the kustomization does not build: %w", err)}
	}
	source := l.repo.sources(files, over)
	var all []object
	for _, made := range out.Objects {
		docs, err := yamlx.Documents([]byte(made.YAML))
		if err != nil || len(docs) != 1 || len(docs[0].Content) != 1 {
			return nil, errors.Join(fmt.Errorf("what Kustomize made of %s cannot be read: %s %s", l.repo.shown(dir), made.Kind, made.Name), err)
		}
		o := object{file: made.From, node: docs[0].Content[0]}
		if o.file == "" {
			o.file = cmp.Or(l.repo.kustomization(dir), dir)
		}
		source.mark(o)
		all = append(all, o)
	}
	return all, nil
}
