package app

import (
	"io/fs"

	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// asArtifact leaves out of the repository what the artifact of its GitRepository does not have.
func (f *fluxApp) asArtifact(objects []object) error {
	ignore, sources := "", 0
	for _, o := range objects {
		if o.Group() != groupSource || o.Kind() != kindGitSource || !f.repo.Own(yamlx.Text(o.Node, "spec", "url")) {
			continue
		}
		this := yamlx.Text(o.Node, "spec", "ignore")
		if sources++; sources > 1 && this != ignore {
			f.unknown("which files the GitRepositories of this repository leave out, since they differ in spec.ignore: those of the last one, %s, are left out", o.Name())
		}
		ignore = this
	}
	fsys, err := fluxapi.ArtifactOf(f.repo.FSys, ignore)
	if err != nil {
		return err
	}
	repo := *f.repo
	f.whole, repo.FSys = repo.FSys, fsys
	f.layout.repo = &repo
	return nil
}

// ignored says that a directory is in the repository and not in the artifact; empty if it is in neither.
func (f *fluxApp) ignored(dir string) string {
	if f.whole == nil {
		return ""
	}
	if info, err := fs.Lstat(f.whole, dir); err != nil || !info.IsDir() {
		return ""
	}
	return " that Flux gets: spec.ignore of its GitRepository or .sourceignore leaves it out"
}
