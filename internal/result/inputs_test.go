package result

import (
	"slices"
	"testing"
)

// What a cell ran is named without the words for "no recipes", and its files are those that a person can edit.
func TestInput(t *testing.T) {
	t.Parallel()
	for recipes, want := range map[string]struct {
		kind, at string
		roots    []string
	}{
		"my/recipes":               {"recipes", "my/recipes", []string{"my/recipes", "data"}},
		RecipesOfApp("clusters/a"): {"app", "clusters/a", []string{".", "clusters/a"}},
		RecipesOfBundle("out/b"):   {"bundle", "out/b", []string{"out/b"}},
	} {
		r := &Result{Recipes: recipes, Data: "data"}
		if kind, at := r.Input(); kind != want.kind || at != want.at || !slices.Equal(r.Roots(), want.roots) {
			t.Errorf("%q: got %s %q, files in %q", recipes, kind, at, r.Roots())
		}
	}
}
