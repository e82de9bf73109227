// Package inspect has the commands that read and change nothing: list, explain, why, schema, doctor
// and version.
package inspect

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/cli/inventory"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// app is what the commands of this package share.
type app struct{ *cli.App }

type listFlags struct {
	cli.InventoryFlags
	output   string
	runnable bool
}

// listed is a list of one kind of things.
type listed struct {
	what string   // "recipes", also the name of the list in JSON and YAML
	head []string // of the table
	wide []string // further columns, of -o wide
	rows []listRow
	// without: whether something can be run here is no question of it.
	without bool
}

// listRow is one of them.
type listRow struct {
	name  string   // of -o name
	cells []string // of the table, but for the last one
	wide  []string // further ones
	ready inventory.Readiness
	item  any // in JSON and YAML
}

func listKinds() []string {
	return []string{"recipes", "components", "profiles", "deployers", "charts", "checks"}
}

// ListCommand is `matrix list`.
func ListCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var f listFlags
	cmd := &cobra.Command{
		Use:       "list " + strings.Join(listKinds(), "|"),
		Short:     "List recipes, components, profiles, deployers, charts or checks, and whether they can be run here",
		ValidArgs: listKinds(),
		Long: `List recipes, components, profiles, deployers or charts, whether each can be run here, and what is missing if not.

recipes     every overlay with its tier (1: a service and no accelerator; 2: both; -: no service, a part of other recipes) and its criteria
components  the registry, with the recipes that deploy each component
profiles    the kinds of nodes that can be simulated
deployers   the lanes, and whether the programs that they need are compiled
charts      the charts that recipes pin, and whether the chart source has them
checks      the checks with an ID (matrix explain ID)

A recipe can be run here if it resolves, its constraint on Kubernetes' version holds, there is a node profile for its service and accelerator, and
the chart source has every chart. Nothing is rendered or started. docs/results.md has the fields of -o json and -o yaml.`,
		Example: `  matrix list recipes
  matrix run $(matrix list recipes --runnable -o name) --deployer helm
  matrix list charts -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(listKinds(), args[0]) {
				return fmt.Errorf("list %s: want one of %s", strings.Join(args, " "), strings.Join(listKinds(), ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cli.Brief(a.Getenv)
			return a.list(cmd.Context(), args[0], f)
		},
	}
	f.Register(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "table", "output format: table, wide (of profiles, also what their clusters have), json, yaml or name")
	cmd.Flags().BoolVar(&f.runnable, "runnable", false, "list only what can be run here")
	return cmd
}

// wideOutput is the table with further columns.
const wideOutput = "wide"

func (a *app) list(ctx context.Context, what string, f listFlags) error {
	if !slices.Contains([]string{"table", wideOutput, "json", "yaml", "name"}, f.output) {
		return cli.Usagef("--output %q: want table, wide, json, yaml or name", f.output)
	}
	if f.output == wideOutput && what != "profiles" {
		return cli.Usagef("--output wide is for profiles; %s have no more columns than those of table", what)
	}
	var l listed
	var err error
	switch what {
	case "deployers":
		l, err = a.listDeployers()
	case "checks":
		l = listChecks()
	default:
		var sources inventory.Sources
		if sources, err = a.Inventory(f.InventoryFlags); err == nil {
			l, err = listOf(ctx, what, sources)
		}
	}
	if err != nil {
		return err
	}
	l.what = what
	if f.runnable && !l.without {
		l.rows = slices.DeleteFunc(l.rows, func(r listRow) bool { return !r.ready.Runnable })
	}
	return l.print(a.Stdout, f.output)
}

func listOf(ctx context.Context, what string, sources inventory.Sources) (listed, error) {
	switch what {
	case "components":
		return listComponents(ctx, sources)
	case "profiles":
		return listProfiles(ctx, sources)
	case "charts":
		return listCharts(ctx, sources)
	}
	return listRecipes(ctx, sources)
}

func (l listed) print(w io.Writer, format string) error {
	items, names := []any{}, ""
	head := slices.Clone(l.head)
	if !l.without {
		head = append(head, "RUNS HERE")
	}
	if format == wideOutput {
		head = append(head, l.wide...)
	}
	table := [][]string{head}
	runnable := 0
	for _, r := range l.rows {
		items = append(items, r.item)
		names += r.name + "\n"
		if l.without {
			table = append(table, r.cells)
			continue
		}
		here := "yes"
		if r.ready.Runnable {
			runnable++
		} else {
			here = "no: " + r.ready.Brief()
		}
		cells := append(slices.Clone(r.cells), here)
		if format == wideOutput {
			cells = append(cells, r.wide...)
		}
		table = append(table, cells)
	}
	var err error
	switch format {
	case "json":
		err = cli.PrintJSON(w, map[string]any{l.what: items})
	case "yaml":
		err = cli.PrintYAML(w, map[string]any{l.what: items})
	case "name":
		_, err = io.WriteString(w, cli.Inert(names))
	default:
		if l.without {
			_, err = io.WriteString(w, cli.Inert(cli.Table(table)+fmt.Sprintf("%d %s; matrix explain ID says more\n", len(l.rows), l.what)))
			return err
		}
		text := cli.Table(table) + fmt.Sprintf("%d %s, %d of them can be run here", len(l.rows), l.what, runnable)
		if runnable < len(l.rows) {
			text += "; -o json says in full what is missing"
		}
		_, err = io.WriteString(w, cli.Inert(text+"\n"))
	}
	return err
}

func listRecipes(ctx context.Context, s inventory.Sources) (listed, error) {
	all, err := inventory.Recipes(ctx, s)
	l := listed{head: []string{"NAME", "TIER", "SERVICE", "ACCELERATOR", "INTENT", "OS", "PLATFORM"}}
	for i := range all {
		r := &all[i]
		tier := "-"
		if r.Tier > 0 {
			tier = strconv.Itoa(r.Tier)
		}
		c := r.Criteria
		l.rows = append(l.rows, listRow{
			name: r.Name, cells: []string{r.Name, tier, dash(c.Service), dash(c.Accelerator), dash(c.Intent), dash(c.OS), dash(c.Platform)}, ready: r.Readiness, item: r,
		})
	}
	return l, err
}

func listComponents(ctx context.Context, s inventory.Sources) (listed, error) {
	all, err := inventory.Components(ctx, s)
	l := listed{head: []string{"NAME", "TYPE", "CHART", "VERSION", "NAMESPACE", "RECIPES"}}
	for i := range all {
		c := &all[i]
		l.rows = append(l.rows, listRow{
			name: c.Name, cells: []string{c.Name, c.Type, dash(c.Chart), dash(c.Version), dash(c.Namespace), strconv.Itoa(len(c.Recipes))}, ready: c.Readiness, item: c,
		})
	}
	return l, err
}

func listProfiles(ctx context.Context, s inventory.Sources) (listed, error) {
	all, err := inventory.ListProfiles(ctx, s)
	l := listed{head: []string{"NAME", "SERVICE", "NODES", "ACCELERATOR", "INSTANCE", "ARCH", "CPU", "MEMORY", "GPUS", "RECIPES"}, wide: []string{"DEFAULT STORAGECLASS", "STORAGECLASSES", "LOAD BALANCER", "GROUPS"}}
	for i := range all {
		p := &all[i]
		gpus := "-"
		if p.GPUs > 0 {
			gpus = fmt.Sprintf("%d x %s", p.GPUs, p.GPU)
		}
		accelerator := dash(p.Accelerator)
		if p.Default {
			accelerator += " (default)"
		}
		var groups []string
		for _, g := range p.Groups {
			groups = append(groups, g.String())
		}
		l.rows = append(l.rows, listRow{
			name:  p.Name,
			cells: []string{p.Name, p.Service, p.NodeType, accelerator, p.InstanceType, p.Architecture, p.Capacity["cpu"], p.Capacity["memory"], gpus, strconv.Itoa(len(p.Recipes))},
			wide:  []string{p.DefaultStorageClass, dash(strings.Join(p.StorageClasses, ",")), cmp.Or(p.LoadBalancer, "yes"), dash(strings.Join(groups, ", "))},
			ready: p.Readiness, item: p,
		})
	}
	return l, err
}

func listCharts(ctx context.Context, s inventory.Sources) (listed, error) {
	all, err := inventory.ListCharts(ctx, s)
	l := listed{head: []string{"NAME", "VERSION", "REPOSITORY", "COMPONENTS", "RECIPES"}}
	for i := range all {
		c := &all[i]
		name := c.Name
		if c.Version != "" {
			name += ":" + c.Version
		}
		l.rows = append(l.rows, listRow{
			name: name, cells: []string{c.Name, dash(c.Version), dash(c.Repository), strings.Join(c.Components, ", "), strconv.Itoa(len(c.Recipes))}, ready: c.Readiness, item: c,
		})
	}
	return l, err
}

// deployerItem is a deployer in -o json.
type deployerItem struct {
	Name        string   `json:"name"`
	All         bool     `json:"all"`         // --deployer all has it
	AllSince    string   `json:"allSince"`    // with recipes from which release of AICR on: march or july; empty unless all
	Controllers []string `json:"controllers"` // that its lane starts
	Built       bool     `json:"built"`       // the programs that it needs are in the cache; otherwise a run compiles them
	inventory.Readiness
}

// listDeployers says which lanes can be run on this machine as it is: a run compiles what the stack
// lacks, if there is a Go that can.
func (a *app) listDeployers() (listed, error) {
	l := listed{head: []string{"NAME", "ALL", "CONTROLLERS", "BUILT"}}
	for _, d := range bundle.Deployers() {
		kinds := matrix.NewLane(d).Controllers()
		item := &deployerItem{
			Name: d.Name(), Controllers: []string{}, AllSince: allSince(d.Name()),
			Built: len(a.Stack.Missing(embedded.StackGroups(kinds...)...)) == 0 && len(a.Helmfile.Missing(embedded.HelmfileGroups(kinds...)...)) == 0,
		}
		item.All = item.AllSince != ""
		for _, kind := range kinds {
			item.Controllers = append(item.Controllers, string(kind))
		}
		if err := platform.CanCompile(a.App, []*stack.Stack{a.Stack}, kinds); err != nil {
			item.Missing = append(item.Missing, inventory.Missing{Kind: inventory.MissingToolchain, Name: "go " + a.Settings.Go.Minimum, Why: err.Error()})
		}
		item.Runnable = len(item.Missing) == 0
		l.rows = append(l.rows, listRow{
			name: item.Name, cells: []string{item.Name, allText(item.AllSince), dash(strings.Join(item.Controllers, ", ")), yesNo(item.Built)}, ready: item.Readiness, item: item,
		})
	}
	return l, nil
}

// The recipes from which on --deployer all has a deployer.
const (
	marchRecipes = "march"
	julyRecipes  = "july"
)

// allSince says with recipes from which release of AICR on all stands for a deployer too.
func allSince(name string) string {
	switch {
	case slices.Contains(bundle.AICRNames(recipe.March), name):
		return marchRecipes
	case slices.Contains(bundle.AICRNames(recipe.July), name):
		return julyRecipes
	}
	return ""
}

// allText is allSince for people.
func allText(since string) string {
	if since == julyRecipes {
		return "since July"
	}
	return yesNo(since != "")
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
