package intake

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// anyName stands for the recipe's name, and anyHost for the registry's, in bundles that are compared.
const anyName, anyHost = "recipe", "registry.invalid"

// Likeness is the digest of what the CLI resolves a recipe to, but for its names and for what only
// AICR's own snapshots decide. Bundles of two recipes can be equal only if it is.
func (e *Exec) Likeness(ctx context.Context, in bundle.Input, dir string) (string, error) {
	if err := e.ready(ctx); err != nil {
		return "", err
	}
	text, err := e.resolve(ctx, in, dir)
	if err != nil {
		return "", fmt.Errorf("recipe by AICR's CLI %s: %w", e.version, err)
	}
	r := &recipe.Result{}
	if err := yaml.Unmarshal(text, r); err != nil {
		return "", fmt.Errorf("the recipe that AICR's CLI resolved is not understood: %w", err)
	}
	return likeness(r)
}

func likeness(r *recipe.Result) (string, error) {
	c := r.Criteria
	text, err := json.Marshal([]any{r.APIVersion, r.Metadata.SelectedProfile, c.Service, c.Accelerator, c.Nodes, r.ComponentRefs, r.DeploymentOrder, r.Validation})
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

// Digest is that of the bundle which the CLI makes of a recipe in the place of the input, with
// another name in place of the recipe's. Empty if the bundle has a release whose name contains the
// recipe's. The bundle must be one that a cell would take.
func (e *Exec) Digest(ctx context.Context, d bundle.Deployer, in bundle.Input, dir string) (string, error) {
	if err := e.ready(ctx); err != nil {
		return "", err
	}
	name, res := bundle.RecipeName(in.Recipe), *in.Recipe
	res.Metadata.Name = anyName
	in.Recipe = &res
	in = in.InRegistry(anyHost, anyHost, d.Name())
	in.TargetRevision = "0.0.0-1-" + d.Name()
	m, b, err := e.read(ctx, d, in, dir)
	if err != nil {
		return "", fmt.Errorf("%s bundle by AICR's CLI %s: %w", d.Name(), e.version, err)
	}
	for _, u := range b.form.units() {
		if strings.Contains(u.name, name) {
			return "", nil
		}
	}
	of, err := likeness(b.recipe)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s %q %q\n", of, b.warnings, b.unknown) // a hash does not fail
	for _, file := range slices.Sorted(maps.Keys(b.tree.original)) {
		f := b.tree.original[file]
		if b.tree.passedOver(file) {
			continue
		}
		content := string(f.Content)
		if m.host != "" {
			content = strings.ReplaceAll(content, m.host, anyHost)
		}
		_, _ = fmt.Fprintf(sum, "%q %o %q\n", file, f.Mode, content)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// passedOver: the file was compared when the bundle was read, or is for people.
func (t *tree) passedOver(file string) bool {
	switch path.Base(file) {
	case recipeName, checksumsFile, infoFile, "README.md", "UPGRADING.md", "undeploy.sh":
		return true
	case "deploy.sh":
		return len(t.installScripts(path.Dir(file))) > 0
	}
	return false
}
