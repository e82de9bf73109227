package matrix

import (
	"context"
	"os"
	"path/filepath"

	"github.com/nvidia/aicr-action/internal/matrix/discover"
)

// olderDirs copies what the commit has of the change's directories. One of another repository is no
// part of the change, and is left out.
func (r FromRequest) olderDirs(ctx context.Context, repo *discover.Repo, commit string) (map[string]string, error) {
	older := map[string]string{}
	for _, dir := range r.Dirs {
		path, err := repo.Path(dir)
		if err != nil || path == "" {
			continue
		}
		has, err := repo.Export(ctx, commit, path, r.Into)
		if err != nil {
			return nil, err
		}
		older[dir] = ""
		if has {
			older[dir] = filepath.Join(r.Into, filepath.FromSlash(path))
		}
	}
	return older, nil
}

// besides are the directories that another checkout has where the change's checkout, whose recipes
// are in a directory below it, has its own.
func (r FromRequest) besides(checkout string) map[string]string {
	older := map[string]string{}
	top, err := filepath.Abs(filepath.Dir(filepath.Clean(r.RecipesDir)))
	if err != nil || r.RecipesDir == "" {
		return older
	}
	for _, dir := range r.Dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(top, abs)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			continue
		}
		if info, err := os.Stat(filepath.Join(checkout, rel)); err == nil && info.IsDir() {
			older[dir] = filepath.Join(checkout, rel)
		}
	}
	return older
}

// ChartsFor are the values of --charts for what runs before: the source's charts come before those
// of the change, which have the versions that the source does not have.
func (s *FromSource) ChartsFor(values []string) []string {
	var all []string
	for _, value := range values {
		if older := s.Older[value]; older != "" && filepath.Clean(older) != filepath.Clean(value) {
			all = append(all, older)
		}
		all = append(all, value)
	}
	return all
}

// DataFor is the directory of further recipe files that runs before, in place of that of the change.
func (s *FromSource) DataFor(dir string) string {
	if older, ok := s.Older[dir]; ok {
		return older
	}
	return dir
}
