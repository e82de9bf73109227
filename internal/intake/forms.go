package intake

import (
	"context"
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// formRow is a row of the table of forms: what this package asks of a deployer by its name.
type formRow struct {
	deployer string
	// read reads a bundle's files. Its texts are what the bundle has and nothing here can verify.
	read func(ctx context.Context, t *tree) (form, []string, error)
	// cli is the deployer's name in AICR's CLI, for a bundle that is pushed. Empty: the CLI's own
	// default, which writes a directory.
	cli string
	// repo: the bundle names its own address, which the CLI takes as a flag.
	repo bool
	// dir: the CLI writes a directory all the same, which is read here or pushed to a Git repository.
	dir bool
}

// forms is the table of the deployers whose bundles another program may make.
func forms() []formRow {
	return []formRow{
		{deployer: bundle.Helm, read: func(_ context.Context, t *tree) (form, []string, error) { return readHelm(t) }},
		{deployer: bundle.Helm4, read: func(_ context.Context, t *tree) (form, []string, error) { return readHelm(t) }},
		{deployer: bundle.ArgoCDOCI, read: whole(func(t *tree) (form, error) { return readApplications(t, bundle.ArgoCDOCI) }), cli: "argocd", repo: true},
		{deployer: bundle.ArgoCDGit, read: whole(func(t *tree) (form, error) { return readApplications(t, bundle.ArgoCDGit) }), cli: "argocd", repo: true, dir: true},
		{deployer: bundle.ArgoCDHelmOCI, read: func(ctx context.Context, t *tree) (form, []string, error) {
			f, err := readWrapper(ctx, t)
			return f, nil, err
		}, cli: "argocd-helm", repo: true},
		{deployer: bundle.FluxOCI, read: func(_ context.Context, t *tree) (form, []string, error) { return readFlux(t, false) }, cli: "flux"},
		{deployer: bundle.Helmfile, read: whole(readHelmfile), cli: "helmfile", dir: true},
		{deployer: bundle.FluxGit, read: func(_ context.Context, t *tree) (form, []string, error) { return readFlux(t, true) }, cli: "flux", repo: true, dir: true},
	}
}

// whole is a reader that verifies all that it reads.
func whole(read func(t *tree) (form, error)) func(context.Context, *tree) (form, []string, error) {
	return func(_ context.Context, t *tree) (form, []string, error) {
		f, err := read(t)
		return f, nil, err
	}
}

// formOf is the row of a deployer; an error names those that have one.
func formOf(d bundle.Deployer) (formRow, error) {
	var names []string
	for _, row := range forms() {
		if row.deployer == d.Name() {
			return row, nil
		}
		names = append(names, row.deployer)
	}
	return formRow{}, fmt.Errorf("deployer %s does not take bundles of other programs; these do: %s", d.Name(), strings.Join(names, ", "))
}
