package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	names "k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/adjust"
	"github.com/nvidia/aicr-action/internal/bundle/preconditions"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// putIn is what the flags put into the values of components, parsed.
type putIn struct {
	classes          map[string]string // of the components, as the registry has them
	sets             adjust.Sets
	typed            []adjust.Typed
	dynamic          []adjust.Dynamic
	scheduling       bundle.Scheduling
	workloadGate     []corev1.Toleration
	workloadSelector map[string]string
	eviction         adjust.EvictionLabel
	argo             adjust.ArgoOptions
	// gates are the releases that wait for a component, and charts those that the bundle has.
	gates  []string
	charts []publish.VendorRecord
}

// parse reads the flags without a recipe.
func (f *bundleFlags) parse() (p putIn, err error) {
	if p.scheduling, err = f.scheduling.Scheduling(); err != nil {
		return p, err
	}
	var sets []string
	if p.argo, sets, err = adjust.ParseArgoOptions(f.set); err != nil {
		return p, cli.WrapUsage(err)
	}
	if err := p.argo.Check(f.deployer); err != nil {
		return p, cli.WrapUsage(err)
	}
	if p.sets, err = adjust.ParseSets(sets); err != nil {
		return p, cli.WrapUsage(err)
	}
	if p.typed, err = adjust.ParseTyped(f.setJSON, f.setFile); err != nil {
		return p, cli.WrapUsage(err)
	}
	if p.dynamic, err = adjust.ParseDynamic(f.dynamic); err != nil {
		return p, cli.WrapUsage(err)
	}
	if f.nodes < 0 {
		return p, cli.Usagef("--nodes %d: want 1 or more, or 0 for what the recipe sets", f.nodes)
	}
	if f.workloadGate != "" {
		if p.workloadGate, err = adjust.ParseTolerations(f.workloadGate); err != nil {
			return p, cli.Usagef("--workload-gate: %w", err)
		}
		if len(p.workloadGate) != 1 || p.workloadGate[0].Key == "" {
			return p, cli.Usagef("--workload-gate %q: want one taint, KEY=VALUE:EFFECT", f.workloadGate)
		}
	}
	if p.workloadSelector, err = adjust.ParsePodSelector(f.workloadSelector...); err != nil {
		return p, cli.Usagef("--workload-selector: %w", err)
	}
	for _, class := range []struct{ flag, name string }{{"--storage-class", f.storageClass}, {"--shared-storage-class", f.sharedStorageClass}} {
		if problems := names.IsDNS1123Subdomain(class.name); class.name != "" && len(problems) > 0 {
			return p, cli.Usagef("%s %.100q: %s", class.flag, class.name, problems[0])
		}
	}
	if p.eviction, err = adjust.ParseEvictionLabel(f.evictionLabel); err == nil && f.readinessHooks {
		err = bundle.CanWait(f.deployer)
	}
	return p, cli.WrapUsage(err)
}

// bundleInput reads the recipe and everything that it names, and injects what the flags set. The
// input still has the dynamic values, which are removed from the bundle's files later.
func (a *app) bundleInput(ctx context.Context, f *bundleFlags) (in bundle.Input, p putIn, err error) {
	if p, err = f.parse(); err != nil {
		return in, p, err
	}
	store, err := a.openRecipes(f.dirs)
	if err != nil {
		return in, p, err
	}
	data, called, err := a.places(f.kubeconfig).Read(ctx, "recipe", f.recipe)
	if err != nil {
		return in, p, err
	}
	result, err := a.readResult(called, data)
	if err != nil {
		return in, p, err
	}
	if document.GenerationOf(result.APIVersion) != recipe.March {
		p.scheduling = f.scheduling.Tolerating(p.scheduling)
	}
	entries := store.Entries()
	p.classes = map[string]string{}
	for _, e := range entries {
		p.classes[e.Name] = e.Class
	}
	if p.sets, err = p.sets.Names(entries, result); err != nil {
		return in, p, cli.WrapUsage(err)
	}
	if p.typed, err = adjust.NameTyped(p.typed, entries, result); err != nil {
		return in, p, cli.WrapUsage(err)
	}
	resolved := result
	if result, in.PutIn, err = p.sets.Enable(resolved); err != nil {
		return in, p, cli.WrapUsage(err)
	}
	if p.eviction.Labels(result) {
		store = store.WithNodeLabeler()
	}
	components, err := store.Components(result)
	if err != nil {
		return in, p, cli.WrapUsage(err)
	}
	locked := adjust.Lock(resolved, components)
	lines, err := a.fill(f, p, entries, components)
	if err == nil {
		err = locked.Check(components)
	}
	if err == nil {
		p.dynamic, err = adjust.NameDynamic(p.dynamic, entries, result, components, locked)
	}
	if err == nil {
		err = p.eviction.Refuses(p.dynamic, components)
	}
	if err == nil && document.GenerationOf(result.APIVersion) != recipe.March {
		err = adjust.RefusePolicy(p.dynamic, result.Configuration.Choice().Accounting != "")
		for _, line := range adjust.PolicyChanged(components) {
			a.note("warning: %s", line)
		}
	}
	if err == nil {
		err = preconditions.Check(result, components, preconditions.Asked{
			WorkloadSelector: len(p.workloadSelector) > 0, SystemSelector: len(p.scheduling.SystemNodeSelector) > 0, AcceleratedSelector: len(p.scheduling.AcceleratedNodeSelector) > 0,
			AcceleratedTolerations: p.scheduling.AcceleratedTolerations, StorageClassPaths: adjust.StorageClassPaths(entries), Advice: true,
		})
	}
	if err != nil {
		return in, p, cli.WrapUsage(err)
	}
	in.PutIn = append(append(in.PutIn, lines...), adjust.DescribeDynamic(p.dynamic)...)
	if f.readinessHooks {
		files, display := store.FS()
		if components, p.gates, err = bundle.ReadinessGates(files, display, components, f.deployer, f.gateImage); err != nil {
			return in, p, cli.WrapUsage(err)
		}
		for _, gate := range p.gates {
			in.PutIn = append(in.PutIn, fmt.Sprintf("%s: --readiness-hooks with %s", gate, f.gateImage))
		}
		switch {
		case len(p.gates) == 0:
			a.note("warning: --readiness-hooks has no effect: no component of this recipe has a components/NAME/readiness.yaml")
		case f.gateImage == bundle.ReadinessImage:
			a.note("warning: %s is no published image: name that of your AICR release with --gate-image", f.gateImage)
		}
	}
	if f.serial {
		adjust.Serial(components)
	}
	in.Recipe, in.Components, in.Scheduling = result, components, p.scheduling
	return in, p, a.readCharts(ctx, f, &in, &p)
}

// fill puts the flags' values into the components, the ones with the last word last.
func (a *app) fill(f *bundleFlags, p putIn, entries []recipe.Entry, components []recipe.Component) (lines []string, err error) {
	for _, step := range []struct {
		flag  string // whose paths the registry names; empty for one that names them itself
		given bool
		put   func() ([]string, error)
	}{
		{"--nodes", f.nodes > 0, func() ([]string, error) { return adjust.Nodes(components, f.nodes) }},
		{"--storage-class", f.storageClass != "", func() ([]string, error) { return adjust.StorageClass(components, entries, f.storageClass) }},
		{"--shared-storage-class", f.sharedStorageClass != "", func() ([]string, error) { return adjust.SharedStorageClass(components, entries, f.sharedStorageClass) }},
		{"--workload-gate", len(p.workloadGate) > 0, func() ([]string, error) { return adjust.WorkloadGate(components, p.workloadGate[0]) }},
		{"--workload-selector", len(p.workloadSelector) > 0, func() ([]string, error) { return adjust.WorkloadSelector(components, entries, p.workloadSelector) }},
		{"", true, func() ([]string, error) { return p.sets.Apply(components) }},
		{"", true, func() ([]string, error) { return adjust.ApplyTyped(p.typed, components) }},
		{"--dra-eviction-node-label", f.evictionLabel != "", func() ([]string, error) { return p.eviction.Apply(components) }},
	} {
		if !step.given {
			continue
		}
		more, err := step.put()
		if err != nil {
			return nil, err
		}
		if len(more) == 0 && step.flag != "" {
			why := "the registry names no value path for it in a component of this recipe"
			if step.flag == "--dra-eviction-node-label" {
				why = "it needs both nvidia-dra-driver-gpu and gpu-operator in the recipe"
			}
			a.note("warning: %s has no effect: %s", step.flag, why)
		}
		lines = append(lines, more...)
	}
	return lines, nil
}
