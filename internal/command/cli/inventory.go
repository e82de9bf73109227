package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/command/cli/inventory"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// InventoryFlags are the flags that say what an inventory is made from.
type InventoryFlags struct {
	Recipes  RecipeDirs
	Charts   []string
	Profiles string
}

// Register adds the flags. Usage is that of --charts.
func (f *InventoryFlags) Register(cmd *cobra.Command) {
	RecipesFlags(cmd, &f.Recipes)
	ProfilesFlag(cmd, &f.Profiles)
	ChartsFlag(cmd, &f.Charts, "chart `source` in which charts are looked for: auto (upstream where the recipes have a charts.lock, else simulated), simulated, simulated-any-version, upstream, direct, or a directory; repeat it for a list")
}

// Inventory opens what lists are made from. Errors are those of Recipes, Charts and Profiles.
func (a *App) Inventory(f InventoryFlags) (inventory.Sources, error) {
	store, _, err := a.Recipes(f.Recipes)
	if err != nil {
		return inventory.Sources{}, err
	}
	a.TellRead(store)
	source, err := a.Charts(f.Charts, f.Recipes.Recipes)
	if err != nil {
		return inventory.Sources{}, err
	}
	profiles, err := Profiles(f.Profiles, a.RecipesDirectory(f.Recipes.Recipes))
	if err != nil {
		return inventory.Sources{}, err
	}
	return inventory.Sources{Store: store, Charts: chartFinder{source}, Profiles: profiles, Nodes: a.Settings.NodeGroups(), KubeVersion: a.Stack.KubeVersion()}, nil
}

// chartFinder finds charts in a chart source. It downloads nothing.
type chartFinder struct{ source catalog.Source }

// Find is inventory.Charts'.
func (f chartFinder) Find(ctx context.Context, c *recipe.ComponentRef) error {
	return charts.Find(ctx, f.source, catalog.RefOf(&recipe.Component{ComponentRef: *c}))
}
