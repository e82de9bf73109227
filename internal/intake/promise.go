package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/intake/aicrcli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// promise is what a recipe says of a bundle that is made of it. It is read from the resolved recipe and from the
// recipes directory, and never from the bundle: what a bundle lacks, its own files do not show.
type promise struct {
	recipe *recipe.Result
	// lines are where the resolved recipe has its components.
	lines map[string]recipe.Origin
	// parts are the components with their values and their entries in the registry, by name; releases are what
	// this program's bundler makes of them. Nil if the recipes directory is not known, or not read as a whole.
	parts    map[string]recipe.Component
	releases []bundle.Install
	// told: the maker's flags are known, so that values and node selectors are known, too.
	told bool
	// idle are the components that the flags switch off, with values and manifests.
	idle []recipe.Component
	// without are their names, also where no recipes directory is known. optional are those that the maker may have
	// been told to switch off.
	without, optional []string
	// unpinned are the components whose chart has no version in the recipe.
	unpinned map[string]bool
	// notes say what could not be compared.
	notes []string
}

// Recipes gives the components of a resolved recipe, with what the recipes directory has of them.
type Recipes interface {
	Components(*recipe.Result) ([]recipe.Component, error)
	Entries() []recipe.Entry
}

// promised is what a resolved recipe, whose text is that of a file, promises. sets are those that its maker was
// told; recipes may be nil.
func promised(ctx context.Context, text []byte, at func(line int) recipe.Origin, recipes Recipes, sets []aicrcli.KWOKSet, told bool) (*promise, error) {
	p := &promise{recipe: &recipe.Result{}, lines: map[string]recipe.Origin{}, unpinned: map[string]bool{}, told: told}
	if err := yaml.Unmarshal(text, p.recipe); err != nil {
		return nil, &recipe.FileError{File: at(0).File, Err: fmt.Errorf("not a resolved recipe: %w", err)}
	}
	p.readLines(text, at)
	if p.without = aicrcli.LeftOut(sets); !told {
		p.without, p.optional, sets = nil, p.without, nil
	}
	if recipes == nil || len(recipes.Entries()) == 0 {
		note := "bundle: its values were not compared with the recipe's, since no recipes directory that is read here as a whole has them"
		if !told {
			note = "bundle: of its values only those were compared with the recipe's that recipe.yaml itself sets, since no recipes directory that is read here as a whole has the others (--recipes-dir DIR)"
		}
		p.notes = append(p.notes, note)
		return p, nil
	}
	components, err := recipes.Components(p.recipe)
	if err != nil {
		p.notes = append(p.notes, fmt.Sprintf("bundle: its values were not compared with the recipe's, which cannot be made of the recipes here: %s", strings.SplitN(err.Error(), "\n", 2)[0]))
		return p, nil
	}
	var deployed []recipe.Component
	for _, c := range components {
		for _, set := range sets {
			if _, expr, _ := strings.Cut(set.Value, ":"); set.Component == c.Name && !slices.Contains(p.without, c.Name) {
				if c.Values == nil {
					c.Values = map[string]any{}
				}
				if err := strvals.ParseInto(expr, c.Values); err != nil {
					return nil, fmt.Errorf("--set %s: %w", set.Value, err)
				}
			}
		}
		c.DependencyRefs = slices.DeleteFunc(slices.Clone(c.DependencyRefs), func(name string) bool { return slices.Contains(p.without, name) })
		if slices.Contains(p.without, c.Name) {
			p.idle = append(p.idle, c)
			continue
		}
		if c.Version == "" && c.Chart != "" {
			c.Version, p.unpinned[c.Name] = "0.0.0", true
		}
		deployed = append(deployed, c)
	}
	return p, p.make(ctx, deployed)
}

// make has this program's own bundler make the releases.
func (p *promise) make(ctx context.Context, components []recipe.Component) error {
	helm, err := bundle.ByName([]string{bundle.Helm})
	if err != nil {
		return err
	}
	made, err := helm[0].Bundle(ctx, bundle.Input{Recipe: p.recipe, Components: components, Scheduling: bundle.KwokScheduling(), Unrendered: true})
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		p.notes = append(p.notes, fmt.Sprintf("bundle: its values were not compared with the recipe's, of which this program makes no bundle: %s", strings.SplitN(err.Error(), "\n", 2)[0]))
		return nil
	}
	p.releases, p.parts = made.Installs, map[string]recipe.Component{}
	for _, c := range components {
		p.parts[c.Name] = c
	}
	return nil
}

// readLines notes where the resolved recipe has each component.
func (p *promise) readLines(text []byte, at func(line int) recipe.Origin) {
	docs, err := yamlx.Documents(text)
	if err != nil || len(docs) == 0 || len(docs[0].Content) == 0 {
		return
	}
	refs := yamlx.Find(docs[0].Content[0], "componentRefs")
	if refs == nil || refs.Kind != yamlv3.SequenceNode {
		return
	}
	for _, ref := range refs.Content {
		if name := yamlx.Text(ref, "name"); name != "" {
			p.lines[name] = at(yamlx.LineOf(ref, "name"))
		}
	}
}

// deployed are the components that the recipe deploys, in its order.
func (p *promise) deployed() []recipe.ComponentRef {
	var all []recipe.ComponentRef
	for _, name := range p.recipe.DeploymentOrder {
		for _, ref := range p.recipe.ComponentRefs {
			if ref.Name == name && !ref.LeftOut() && !slices.Contains(p.without, name) && (p.parts == nil || p.parts[name].Name != "") {
				all = append(all, ref)
			}
		}
	}
	return all
}

// where is the place of a component, and in words both of its places: in the resolved recipe, and where the recipes
// directory declares it.
func (p *promise) where(component string) (recipe.Origin, string) {
	at := p.lines[component]
	if c := p.parts[component]; c.Declared.File != "" {
		return c.Declared, c.Declared.String() + ", and " + at.String() + " as resolved"
	}
	return at, at.String()
}

// switchedOff renders the components that the maker was told to switch off, into what is tried in a dry run, and says
// so. Whoever installs the recipe for real gets them.
func (p *promise) switchedOff(ctx context.Context, in bundle.Input, into *bundle.Bundle) (notes []string, err error) {
	for _, name := range p.without {
		i := slices.IndexFunc(p.idle, func(c recipe.Component) bool { return c.Name == name })
		if i < 0 {
			notes = append(notes, "bundle: component "+name+" is switched off, as in AICR's KWOK tests, and not rendered, since its values and manifests are not known here")
			continue
		}
		c := p.idle[i]
		c.DependencyRefs = nil // the others are in the bundle
		one := bundle.Input{Recipe: p.recipe, Components: []recipe.Component{c}, Scheduling: bundle.KwokScheduling(), MayBeEmpty: true, Charts: in.Charts, KubeVersion: in.KubeVersion, APIs: in.APIs}
		helm, err := bundle.ByName([]string{bundle.Helm})
		if err != nil {
			return nil, err
		}
		made, err := helm[0].Bundle(ctx, one)
		if missing := (*catalog.NotFoundError)(nil); errors.As(err, &missing) {
			notes = append(notes, fmt.Sprintf("bundle: component %s is switched off, as in AICR's KWOK tests, and not rendered: %v", name, err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("component %s, which is switched off on simulated nodes and rendered all the same: %w", name, err)
		}
		into.Foreign.SwitchedOff = append(into.Foreign.SwitchedOff, made.Expectation.Objects...)
		notes = append(notes, fmt.Sprintf("bundle: component %s is switched off, as in AICR's KWOK tests: it was rendered, and its objects (%d) were created in a dry run only", name, len(made.Expectation.Objects)))
	}
	return notes, nil
}
