package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// recipesDir is the environment's --recipes-dir.
const recipesDir = "AICR_ACTION_RECIPES_DIR"

// recipesFlags are cli.RecipesFlags for a program that people run anywhere: without them the recipes are those in the binary, whatever the
// working directory has.
func recipesFlags(cmd *cobra.Command, dirs *cli.RecipeDirs) {
	cmd.Flags().StringVar(&dirs.Recipes, "recipes-dir", "", "recipes `directory` in place of the recipes in this binary")
	cmd.Flags().StringVar(&dirs.Data, "data", "", "`directory` of further recipe files, laid over the recipes: its registry.yaml is merged by component, other files replace those with the same path")
}

// inBinary makes the recipes in the binary the default.
func (a *app) inBinary(dirs cli.RecipeDirs) cli.RecipeDirs {
	dirs.Recipes = cli.FirstOf(dirs.Recipes, a.Getenv(recipesDir), cli.Embedded)
	return dirs
}

func (a *app) openRecipes(dirs cli.RecipeDirs) (*recipe.Store, error) {
	store, _, err := a.Recipes(a.inBinary(dirs))
	return store, err
}

// queryFlags say which recipe is meant.
type queryFlags struct {
	criteria   recipe.Criteria
	file       string
	kubeconfig string
	dirs       cli.RecipeDirs
}

func (f *queryFlags) register(cmd *cobra.Command) {
	known := recipe.KnownCriteria()
	for _, flag := range []struct {
		name, short, what string
		value             *string
	}{
		{"service", "", "Kubernetes service", &f.criteria.Service},
		{"accelerator", "", "accelerator, also --gpu", &f.criteria.Accelerator},
		{"intent", "i", "what the cluster is for", &f.criteria.Intent},
		{"os", "", "operating system of the GPU nodes", &f.criteria.OS},
		{"platform", "", "platform on the cluster", &f.criteria.Platform},
	} {
		cmd.Flags().StringVarP(flag.value, flag.name, flag.short, "", fmt.Sprintf("%s: %s, any (default any)", flag.what, strings.Join(known[flag.name], ", ")))
	}
	cmd.Flags().IntVar(&f.criteria.Nodes, "nodes", 0, "number of GPU nodes; 0 is any")
	cmd.Flags().StringVarP(&f.file, "criteria", "c", "", "`address` of a RecipeCriteria document; flags override what it sets")
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` for cm:// addresses (default: KUBECONFIG, ~/.kube/config, or the pod's own cluster)")
	recipesFlags(cmd, &f.dirs)
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "gpu" {
			name = "accelerator"
		}
		return pflag.NormalizedName(name)
	})
}

// resolve makes the recipe that the flags describe.
func (a *app) resolve(ctx context.Context, f queryFlags) (*recipe.Store, *recipe.Result, error) {
	if f.criteria.Nodes < 0 {
		return nil, nil, cli.Usagef("--nodes %d: want 0 (any number) or more", f.criteria.Nodes)
	}
	store, err := a.openRecipes(f.dirs)
	if err != nil {
		return nil, nil, err
	}
	query := lower(f.criteria)
	if err := checkCriteria(store, query, "--"); err != nil {
		return nil, nil, err
	}
	if f.file != "" {
		data, called, err := a.places(f.kubeconfig).Read(ctx, "criteria", f.file)
		if err != nil {
			return nil, nil, err
		}
		given, err := recipe.ReadCriteria(called, data)
		if err == nil {
			err = checkCriteria(store, lower(given), called+": spec.")
		}
		if err != nil {
			return nil, nil, cli.WrapUsage(err)
		}
		query = override(query, lower(given))
	}
	result, err := store.Resolve(query)
	if err != nil {
		return nil, nil, cli.WrapUsage(err)
	}
	for _, unused := range store.Unused(result) {
		a.note("note: no overlay of these recipes is for %s; the recipe has nothing of its own for it", unused)
	}
	return store, result, nil
}

// override puts flags over a file. A flag with the value any overrides too.
func override(flags, file recipe.Criteria) recipe.Criteria {
	for _, f := range []struct{ flag, file *string }{
		{&flags.Service, &file.Service}, {&flags.Accelerator, &file.Accelerator}, {&flags.Intent, &file.Intent}, {&flags.OS, &file.OS}, {&flags.Platform, &file.Platform},
	} {
		*f.flag = cli.FirstOf(*f.flag, *f.file)
	}
	if flags.Nodes == 0 {
		flags.Nodes = file.Nodes
	}
	return flags
}

func lower(c recipe.Criteria) recipe.Criteria {
	for _, f := range []*string{&c.Service, &c.Accelerator, &c.Intent, &c.OS, &c.Platform} {
		*f = strings.ToLower(strings.TrimSpace(*f))
	}
	return c
}

// checkCriteria names the flag or the field, which is prefix and the criterion's name.
func checkCriteria(store *recipe.Store, c recipe.Criteria, prefix string) error {
	err := store.CheckCriteria(c)
	var unknown *recipe.UnknownValueError
	if errors.As(err, &unknown) {
		return cli.Usagef("%s%w", prefix, err)
	}
	return err
}
