package intake

import (
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// readRecipe reads recipe.yaml, which a bundle has beside what it deploys. AICR's CLI puts it only
// into bundles for Helm; for the others, the one that the CLI was given is among the original files.
func (b *Bundle) readRecipe() error {
	f, ok := b.tree.original[recipeName]
	if !ok {
		return nil
	}
	if _, err := yamlx.Documents(f.Content); err != nil {
		p := yamlx.Problems(err)[0]
		return b.tree.bad(recipeName, p.Line, "%s", p.Text)
	}
	r := &recipe.Result{}
	if err := yaml.Unmarshal(f.Content, r); err != nil {
		return b.tree.bad(recipeName, 0, "not a resolved recipe: %w", err)
	}
	for i := range r.Constraints {
		at := b.tree.at(recipeName, 0)
		r.Constraints[i].Origin = at
	}
	b.recipe = r
	return nil
}

// findPrefix finds what the releases have in front of the names of recipe.yaml's components.
func (b *Bundle) findPrefix() {
	if b.recipe == nil {
		return
	}
	var deployed, components []string
	for _, u := range b.form.units() {
		deployed = append(deployed, u.name)
	}
	for _, ref := range b.recipe.ComponentRefs {
		components = append(components, ref.Name)
	}
	b.prefix = prefixOf(components, deployed)
}
