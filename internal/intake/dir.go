package intake

import (
	"context"
	"fmt"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/intake/aicrcli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Dir gives cells the bundle that is in a directory, and was opened.
type Dir struct {
	bundle *Bundle
	// recipes have what its recipe was made of; nil if that is not known.
	recipes Recipes
	judged  bool
}

// NewDir makes one, of a bundle that is taken as it is: one that runs already, or that no recipe describes.
func NewDir(b *Bundle) *Dir { return &Dir{bundle: b} }

// NewJudgedDir makes one of a bundle that is held against its recipe.yaml, if it has one. recipes may be nil.
func NewJudgedDir(b *Bundle, recipes Recipes) *Dir {
	return &Dir{bundle: b, recipes: recipes, judged: true}
}

// Bundle is the directory's bundle for the registry in the input. It also says what of the bundle
// is not verified.
func (d *Dir) Bundle(ctx context.Context, deployer bundle.Deployer, in bundle.Input, _ string) (bundle.Input, *bundle.Bundle, []string, error) {
	b := d.bundle
	var warnings, notes []string
	if file, ok := b.tree.original[recipeName]; ok && d.judged && b.recipe != nil {
		p, err := d.promised(ctx, file.Content)
		if err != nil {
			return in, nil, nil, fmt.Errorf("%s bundle in %s: %w", deployer.Name(), b.tree.name, err)
		}
		findings, said := b.compare(p)
		if len(findings) > 0 {
			return in, nil, nil, &result.Failure{Findings: findings}
		}
		warnings, notes = said, p.notes
	}
	in, made, err := b.Make(ctx, in)
	if err != nil {
		return in, nil, nil, fmt.Errorf("%s bundle in %s: %w", deployer.Name(), b.tree.name, err)
	}
	made.Expectation.Warnings = append(made.Expectation.Warnings, warnings...)
	notes = append(notes, b.leftOut()...)
	return in, made, append(b.NotVerified(made), notes...), nil
}

// promised is what the bundle's own recipe.yaml promises. Its maker's flags are not known.
func (d *Dir) promised(ctx context.Context, text []byte) (*promise, error) {
	sets, err := aicrcli.KWOKSets(recipeName, text)
	if err != nil {
		return nil, err
	}
	return promised(ctx, text, func(line int) recipe.Origin { return d.bundle.tree.at(recipeName, line) }, d.recipes, sets, false)
}
