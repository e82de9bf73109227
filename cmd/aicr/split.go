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

// The files beside the halves.
const (
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
	if err := bundle.CheckSplit(in.Components, classes); err != nil {
		return nil, in, cli.Usagef("--split: %w", err)
	}
	for i, class := range bundle.Classes() {
		half := in
		half.Components = nil
		for _, c := range in.Components {
			if said[c.Name] = bundle.ClassOf(c.Name, classes); said[c.Name] != class {
				continue
			}
			c.DependencyRefs = slices.DeleteFunc(slices.Clone(c.DependencyRefs), func(on string) bool { return bundle.ClassOf(on, classes) != class })
			half.Components = append(half.Components, c)
		}
		b, made, err := cli.MakeBundle(ctx, deployer, half, "--repo", f.revision)
		if err != nil {
			return nil, in, err
		}
		for _, file := range b.Files {
			if file.Path != recipeYAML && file.Path != publish.ChecksumsFile {
				file.Path = path.Join(class, file.Path)
			} else if i > 0 || file.Path == publish.ChecksumsFile {
				continue // the recipe is in both
			}
			files = append(files, file)
		}
		if whole == nil {
			whole, in.TargetRevision = b, made.TargetRevision
			continue
		}
		whole.Installs = append(whole.Installs, b.Installs...)
		whole.Expectation.Releases = slices.Concat(whole.Expectation.Releases, b.Expectation.Releases) // a copy: it is shared
		whole.Expectation.Warnings = append(whole.Expectation.Warnings, b.Expectation.Warnings...)
	}
	split := map[string]any{"order": bundle.Classes(), "components": said}
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
