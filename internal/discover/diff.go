package discover

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// Diff is what changed since the base.
type Diff struct {
	Base    Base
	Changed []string // files, relative to the top of the repository, sorted
	// Before has the recipes as they were at the base; nil if there were none, or if BeforeErr says why they cannot be read.
	Before    *recipe.Store
	BeforeErr error

	recipes string // the recipes directory, as Repo.Path gives it
	charts  []chartDir
	locked  lockDiff
}

// chartDir is a directory of charts in the repository.
type chartDir struct {
	path string
	// names has the name of the chart in each directory and archive of charts, where that is not the file's own name.
	names map[string]string
}

// Charts are the charts whose changes count: those in directories of the repository, and those of a lock file in the recipes directory, by
// its name there. Both may be empty.
type Charts struct {
	Dirs []string
	Lock string
}

// Compare finds what changed in the working tree since base. recipesDir and those of charts are directories of it.
func (r *Repo) Compare(ctx context.Context, base Base, recipesDir string, charts Charts) (*Diff, error) {
	d := &Diff{Base: base}
	var err error
	if d.recipes, err = r.Path(recipesDir); err != nil {
		return nil, err
	}
	read := []string{d.recipes}
	for _, dir := range charts.Dirs {
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
	fsys, err := r.tree(ctx, base.Commit, d.recipes)
	if err != nil {
		return nil, fmt.Errorf("read %s as it was in %s: %w", d.recipes, base.Commit, err)
	}
	if charts.Lock != "" {
		d.locked = compareLocks(charts.Lock, fsys, os.DirFS(filepath.Join(r.Top, filepath.FromSlash(d.recipes))))
	}
	if fsys == nil {
		return d, nil
	}
	d.Before, d.BeforeErr = recipe.Open(fsys, base.Commit[:min(12, len(base.Commit))]+":"+strings.TrimSuffix(d.recipes, "/"))
	return d, nil
}
