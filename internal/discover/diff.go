package discover

import (
	"context"
	"fmt"
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
	charts  string // the directory of charts; "" if the repository has none
	// chartNames has the name of the chart in each directory and archive of charts, where that is not the file's own name.
	chartNames map[string]string
}

// Compare finds what changed in the working tree since base. recipesDir and chartsDir are directories of it; chartsDir may be empty.
func (r *Repo) Compare(ctx context.Context, base Base, recipesDir, chartsDir string) (*Diff, error) {
	d := &Diff{Base: base}
	var err error
	if d.recipes, err = r.Path(recipesDir); err != nil {
		return nil, err
	}
	read := []string{d.recipes}
	if chartsDir != "" {
		if d.charts, err = r.Path(chartsDir); err != nil {
			return nil, err
		}
		if d.charts == "" {
			return nil, fmt.Errorf("the directory of charts is the repository itself (%s); give a directory in it that has only charts", r.Top)
		}
		d.chartNames = chartNames(filepath.Join(r.Top, filepath.FromSlash(d.charts)))
		read = append(read, d.charts)
	}
	if d.Changed, err = r.changed(ctx, base.Commit, read...); err != nil {
		return nil, fmt.Errorf("list what changed since %s: %w", base.Commit, err)
	}
	fsys, err := r.tree(ctx, base.Commit, d.recipes)
	if err != nil {
		return nil, fmt.Errorf("read %s as it was in %s: %w", d.recipes, base.Commit, err)
	}
	if fsys == nil {
		return d, nil
	}
	d.Before, d.BeforeErr = recipe.Open(fsys, base.Commit[:min(12, len(base.Commit))]+":"+strings.TrimSuffix(d.recipes, "/"))
	return d, nil
}
