package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	names "k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/adjust"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// putIn is what the flags put into the values of components, parsed.
type putIn struct {
	sets             adjust.Sets
	typed            []adjust.Typed
	dynamic          []adjust.Dynamic
	scheduling       bundle.Scheduling
	workloadGate     []corev1.Toleration
	workloadSelector map[string]string
}

// parse reads the flags without a recipe.
func (f *bundleFlags) parse() (p putIn, err error) {
	if p.scheduling, err = f.scheduling.Scheduling(); err != nil {
		return p, err
	}
	if p.sets, err = adjust.ParseSets(f.set); err != nil {
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
	if f.storageClass != "" {
		if problems := names.IsDNS1123Subdomain(f.storageClass); len(problems) > 0 {
			return p, cli.Usagef("--storage-class %.100q: %s", f.storageClass, problems[0])
		}
	}
	return p, nil
}

// bundleInput reads the recipe and everything that it names, and injects what the flags set. The
// input still has the dynamic values, which are removed from the bundle's files later.
func (a *app) bundleInput(ctx context.Context, f *bundleFlags) (in bundle.Input, dynamic []adjust.Dynamic, err error) {
	p, err := f.parse()
	if err != nil {
		return in, nil, err
	}
	store, err := a.openRecipes(f.dirs)
	if err != nil {
		return in, nil, err
	}
	data, called, err := a.places(f.kubeconfig).Read(ctx, "recipe", f.recipe)
	if err != nil {
		return in, nil, err
	}
	result, err := recipe.ReadResult(called, data)
	if err != nil {
		return in, nil, cli.WrapUsage(err)
	}
	if document.GenerationOf(result.APIVersion) != recipe.March {
		p.scheduling = f.scheduling.Tolerating(p.scheduling)
	}
	entries := store.Entries()
	if p.sets, err = p.sets.Names(entries, result); err != nil {
		return in, nil, cli.WrapUsage(err)
	}
	if p.typed, err = adjust.NameTyped(p.typed, entries, result); err != nil {
		return in, nil, cli.WrapUsage(err)
	}
	if result, in.PutIn, err = p.sets.Enable(result); err != nil {
		return in, nil, cli.WrapUsage(err)
	}
	components, err := store.Components(result)
	if err != nil {
		return in, nil, cli.WrapUsage(err)
	}
	locked := adjust.Lock(result, components)
	lines, err := a.fill(f, p, entries, components)
	if err == nil {
		err = locked.Check(components)
	}
	if err == nil {
		dynamic, err = adjust.NameDynamic(p.dynamic, entries, result, components, locked)
	}
	if err != nil {
		return in, nil, cli.WrapUsage(err)
	}
	in.PutIn = append(append(in.PutIn, lines...), adjust.DescribeDynamic(dynamic)...)
	in.Recipe, in.Components, in.Scheduling = result, components, p.scheduling
	return in, dynamic, a.readCharts(ctx, f, &in)
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
		{"--workload-gate", len(p.workloadGate) > 0, func() ([]string, error) { return adjust.WorkloadGate(components, p.workloadGate[0]) }},
		{"--workload-selector", len(p.workloadSelector) > 0, func() ([]string, error) { return adjust.WorkloadSelector(components, entries, p.workloadSelector) }},
		{"", true, func() ([]string, error) { return p.sets.Apply(components) }},
		{"", true, func() ([]string, error) { return adjust.ApplyTyped(p.typed, components) }},
	} {
		if !step.given {
			continue
		}
		more, err := step.put()
		if err != nil {
			return nil, err
		}
		if len(more) == 0 && step.flag != "" {
			a.note("warning: %s has no effect: the registry names no value path for it in a component of this recipe", step.flag)
		}
		lines = append(lines, more...)
	}
	return lines, nil
}
