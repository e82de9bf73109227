package result

import "strings"

// What Result.Recipes begins with where a cell needed no recipes.
const (
	ofBundle = "none: the bundle in "
	ofApp    = "none: the app in "
)

// RecipesOfBundle is Result.Recipes of a cell that ran a bundle.
func RecipesOfBundle(dir string) string { return ofBundle + dir }

// RecipesOfApp is Result.Recipes of a cell that ran an app.
func RecipesOfApp(path string) string { return ofApp + path }

// Input is what a cell ran, for people: recipes, an app or a bundle, and where that is.
func (r *Result) Input() (kind, at string) {
	if at, ok := strings.CutPrefix(r.Recipes, ofApp); ok {
		return "app", at
	}
	if at, ok := strings.CutPrefix(r.Recipes, ofBundle); ok {
		return "bundle", at
	}
	return "recipes", r.Recipes
}

// Roots are the directories whose files a person can edit: of an app, which may use any file of its
// checkout, the working directory.
func (r *Result) Roots() []string {
	if kind, at := r.Input(); kind == "app" {
		return []string{".", at}
	} else if kind == "bundle" {
		return []string{at}
	}
	return []string{r.Recipes, r.Data}
}
