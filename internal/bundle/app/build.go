package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

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

// reader is the repository as a kustomization's files.
type reader struct{ *repository }

func (r reader) Read(name string) ([]byte, error)      { return r.read(name) }
func (r reader) Stat(name string) (fs.FileInfo, error) { return fs.Lstat(r.fsys, name) }

// build gives what Kustomize makes of a directory, with patches of a Kustomization of Flux over it.
// The lines of each object are those of the file, or of the patch, that sets them.
func (l *layout) build(dir string, over []fluxPatch) ([]object, error) {
	files, problems := kustomize.Walk(reader{l.repo}, dir)
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
