package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/command/cli"
)

// The classes of components, in the order in which their halves are installed, and the files beside the halves.
const (
	coreClass  = "core"
	opsClass   = "ops"
	splitFile  = "split.yaml"
	recipeYAML = "recipe.yaml"
)

// checkSplit refuses what does not go together with --split.
func (f *bundleFlags) checkSplit(deployer string, published bool) error {
	switch {
	case !f.split:
		return nil
	case deployer != bundle.Helm || published:
		return cli.Usagef("--split is for --deployer helm and a directory: its halves are installed by their own deploy.sh")
	case len(f.dynamic) > 0 || f.readinessHooks || f.vendorCharts:
		return cli.Usagef("--split goes with none of --dynamic, --readiness-hooks and --vendor-charts; leave one of them out")
	}
	return nil
}

// splitBundle makes one bundle of two halves, by the classes of the components in the registry: core, and ops, which is
// installed after it and may need it.
func (f *bundleFlags) splitBundle(ctx context.Context, deployer bundle.Deployer, in bundle.Input, classes map[string]string) (*bundle.Bundle, bundle.Input, error) {
	var whole *bundle.Bundle
	var files []bundle.File
	said := map[string]string{}
	for _, class := range []string{coreClass, opsClass} {
		half := in
		half.Components = nil
		for _, c := range in.Components {
			if said[c.Name] = cli.FirstOf(classes[c.Name], coreClass); said[c.Name] != class {
				continue
			}
			on := slices.Clone(c.DependencyRefs)
			c.DependencyRefs = nil
			for _, name := range on {
				switch other := cli.FirstOf(classes[name], coreClass); {
				case other == class:
					c.DependencyRefs = append(c.DependencyRefs, name)
				case class == coreClass:
					return nil, in, cli.Usagef("--split: %s: component %s is of the class core and depends on %s, which is of ops and installed after all of core; correct the class of one in registry.yaml", c.Declared, c.Name, name)
				}
			}
			half.Components = append(half.Components, c)
		}
		if len(half.Components) == 0 {
			return nil, in, cli.Usagef("--split: no component of the recipe is of the class %s in registry.yaml, so that there is nothing to split; leave it out", class)
		}
		b, made, err := cli.MakeBundle(ctx, deployer, half, "--repo", f.revision)
		if err != nil {
			return nil, in, err
		}
		for _, file := range b.Files {
			if file.Path != recipeYAML && file.Path != publish.ChecksumsFile {
				file.Path = path.Join(class, file.Path)
			} else if class == opsClass || file.Path == publish.ChecksumsFile {
				continue // the recipe is in both
			}
			files = append(files, file)
		}
		if whole == nil {
			whole, in.TargetRevision = b, made.TargetRevision
			continue
		}
		whole.Installs = append(whole.Installs, b.Installs...)
		whole.Expectation.Warnings = append(whole.Expectation.Warnings, b.Expectation.Warnings...)
	}
	split := map[string]any{"order": []string{coreClass, opsClass}, "components": said}
	for _, file := range files {
		if file.Path == recipeYAML {
			split["recipeDigest"] = fmt.Sprintf("sha256:%x", sha256.Sum256(file.Content))
		}
	}
	text, err := yaml.Marshal(split)
	if err != nil {
		return nil, in, err
	}
	whole.Files = append(files, bundle.File{Path: splitFile, Mode: 0o644, Content: text})
	return whole, in, whole.Sum()
}
