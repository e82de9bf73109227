// Package shippedtest opens what this project ships, for tests: its recipes and its simulated charts.
package shippedtest

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/kwok"
)

// Files are the files of recipes/.
func Files(t testing.TB) fs.FS { return below(t, aicraction.Recipes, "recipes") }

// Copy are the files of recipes/, for a test to change.
func Copy(t testing.TB) fstest.MapFS {
	t.Helper()
	files, changed := Files(t), fstest.MapFS{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		changed[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatalf("copy the recipes: %v", err)
	}
	return changed
}

// Recipes are the recipes, as a run without --recipes-dir has them.
func Recipes(t testing.TB) *recipe.Store {
	t.Helper()
	store, err := recipe.Open(Files(t), "recipes")
	if err != nil {
		t.Fatalf("open the recipes: %v", err)
	}
	return store
}

// Charts are the simulated charts, as a run with --charts simulated has them.
func Charts(t testing.TB) catalog.Source {
	t.Helper()
	source, err := charts.NewSimulated(below(t, kwok.Files, "charts"), false)
	if err != nil {
		t.Fatalf("open the simulated charts: %v", err)
	}
	return source
}

func below(t testing.TB, all fs.FS, dir string) fs.FS {
	t.Helper()
	files, err := fs.Sub(all, dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
