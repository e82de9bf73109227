package foreign

import (
	"context"
	"fmt"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// Dir gives cells the bundle that is in a directory, and was opened.
type Dir struct{ bundle *Bundle }

// NewDir makes one.
func NewDir(b *Bundle) *Dir { return &Dir{b} }

// Bundle is the directory's bundle for the registry in the input. It also says what of the bundle
// is not verified.
func (d *Dir) Bundle(ctx context.Context, deployer bundle.Deployer, in bundle.Input, _ string) (bundle.Input, *bundle.Bundle, []string, error) {
	in, made, err := d.bundle.Make(ctx, in)
	if err != nil {
		return in, nil, nil, fmt.Errorf("%s bundle in %s: %w", deployer.Name(), d.bundle.tree.name, err)
	}
	return in, made, d.bundle.NotVerified(made), nil
}
