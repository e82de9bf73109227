package discover

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// Diff is what changed since the base.
type Diff struct {
	Base    Base
	Changed []string // files, relative to the top of the repository, sorted
	// Before has the recipes at the base; nil if there were none, or if BeforeErr says why they
	// cannot be read.
	Before    *recipe.Store
	BeforeErr error

	// dirs are the data directory, if there is one, and the recipes directory, as Repo.Path returns
	// them.
	dirs   []string
	charts []chartDir
	locked lockDiff
}

// chartDir is a directory of charts in the repository.
type chartDir struct {
	path string
	// names has the name of the chart in each directory and archive of charts, where it differs
	// from the file's name.
	names map[string]string
}

// Dirs are directories of the working tree. Data, which overlays Recipes, and Charts may be empty.
type Dirs struct {
	Recipes, Data string
	Charts        Charts
}

// Charts are the charts whose changes count: those in directories of the repository, and those of a
// lock file in the recipes directory, by its name there. Both may be empty.
type Charts struct {
	Dirs []string
	Lock string
}

// Compare finds what changed in the working tree since base.
func (r *Repo) Compare(ctx context.Context, base Base, in Dirs) (*Diff, error) {
	d := &Diff{Base: base}
	layers := []string{in.Recipes}
	if in.Data != "" {
		layers = []string{in.Data, in.Recipes}
	}
	for _, layer := range layers {
		dir, err := r.Path(layer)
		if err != nil {
			return nil, err
		}
		d.dirs = append(d.dirs, dir)
	}
	read := slices.Clone(d.dirs)
	var err error
	for _, dir := range in.Charts.Dirs {
		path, err := r.Path(dir)
		if err != nil {
			return nil, err
		}
		if path == "" {
			return nil, fmt.Errorf("the directory of charts is the repository itself (%s); give a directory in it that has only charts", r.Top)
		}
		d.charts = append(d.charts, chartDir{path: path, names: chartNames(filepath.Join(r.Top, filepath.FromSlash(path)))})
		read = append(read, path)
	}
	if d.Changed, err = r.changed(ctx, base.Commit, read...); err != nil {
		return nil, fmt.Errorf("list what changed since %s: %w", base.Commit, err)
	}
	var before []recipe.Layer // as dirs, without those that did not exist
	for _, dir := range d.dirs {
		fsys, err := r.tree(ctx, base.Commit, dir)
		if err != nil {
			return nil, fmt.Errorf("read %s as it was in %s: %w", dir, base.Commit, err)
		}
		if in.Charts.Lock != "" && dir == d.dirs[len(d.dirs)-1] {
			d.locked = compareLocks(dir+in.Charts.Lock, in.Charts.Lock, fsys, os.DirFS(filepath.Join(r.Top, filepath.FromSlash(dir))))
		}
		if fsys != nil {
			before = append(before, recipe.Layer{FS: fsys, Root: base.Commit[:min(12, len(base.Commit))] + ":" + strings.TrimSuffix(dir, "/"), Lenient: true}) // what was there is no fault of the change
		} else if dir == d.dirs[len(d.dirs)-1] {
			return d, nil // no recipes
		}
	}
	if len(before) == 1 {
		d.Before, d.BeforeErr = recipe.OpenLayer(before[0])
	} else {
		d.Before, d.BeforeErr = recipe.OpenWithData(before[1], before[0])
	}
	return d, nil
}

// pathOf returns the path of a changed file in the recipes directory or the data directory; false
// if it is in neither.
func (d *Diff) pathOf(file string) (string, bool) {
	for _, dir := range d.dirs {
		if rest, ok := strings.CutPrefix(file, dir); ok {
			return rest, true
		}
	}
	return "", false
}

// registries returns the changed files that are a registry or, without one, the recipes
// directory's.
func (d *Diff) registries() []string {
	var all []string
	for _, file := range d.Changed {
		if path, ok := d.pathOf(file); ok && path == recipe.RegistryFile {
			all = append(all, file)
		}
	}
	if len(all) == 0 {
		all = []string{d.dirs[len(d.dirs)-1] + recipe.RegistryFile}
	}
	return all
}
