package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
)

func listFormats() []string { return []string{"table", "json", "yaml", "name"} }

// listed is an overlay of the list. Its keys, and the capitals of the criteria's, are those of
// AICR's own CLI.
type listed struct {
	Name     string         `json:"name"`
	Criteria listedCriteria `json:"criteria"`
	IsLeaf   bool           `json:"is_leaf"`
	Source   string         `json:"source"`
	Profile  *listedProfile `json:"profile,omitempty"`
}

type listedCriteria struct {
	Service, Accelerator, Intent, OS, Platform string
	Nodes                                      int
}

type listedProfile struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Default     string   `json:"default"`
	Values      []string `json:"values"`
}

func (a *app) recipeListCommand() *cobra.Command {
	var filter recipe.Criteria
	var dirs cli.RecipeDirs
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List the overlays that recipes are made of", Args: cobra.NoArgs,
		Long: `List the overlays of the recipe files, with what they are for. A leaf is one that is no other overlay's base: a recipe of its own.

A filter keeps the overlays whose criteria have exactly that value; an overlay that leaves it open is not among them.`,
		Example: `  aicr recipe list
  aicr recipe list --service eks --intent training
  aicr recipe list --accelerator h100 --format json`,
		RunE: func(*cobra.Command, []string) error {
			if !slices.Contains(listFormats(), format) {
				return cli.Usagef("--format %q: want %s", format, strings.Join(listFormats(), ", "))
			}
			store, err := a.openRecipes(dirs)
			if err != nil {
				return err
			}
			a.TellRead(store)
			filter = filter.Usual()
			if err := (&queryFlags{}).checkCriteria(store, filter, "--"); err != nil {
				return err
			}
			return a.printList(list(store, filter, a.DataDirectory(dirs.Data)), format)
		},
	}
	for _, f := range criterionFlags(&filter) {
		cmd.Flags().StringVar(f.value, f.name, "", "only those whose "+f.name+" is this")
	}
	cmd.Flags().StringVarP(&format, "format", "t", "table", "output format: "+strings.Join(listFormats(), ", "))
	recipesFlags(cmd, &dirs)
	cmd.Flags().SetNormalizeFunc(gpuIsAccelerator)
	return cmd
}

// list gives the overlays that a filter keeps, sorted by name; those below the data directory are
// external.
func list(store *recipe.Store, filter recipe.Criteria, data string) []listed {
	bases := map[string]bool{}
	for _, name := range store.Names() {
		if o, ok := store.Overlay(name); ok {
			bases[o.Base] = true
		}
	}
	all := []listed{}
	for _, name := range store.Names() {
		o, ok := store.Overlay(name)
		if !ok || o.Base == "" || !keeps(filter, o.Effective) { // the root is in every recipe, and none of its own
			continue
		}
		c := o.Effective.Spelled()
		one := listed{Name: name, Criteria: listedCriteria{c.Service, c.Accelerator, c.Intent, c.OS, c.Platform, c.Nodes}, IsLeaf: !bases[name], Source: "embedded"}
		if data != "" && strings.HasPrefix(o.Origin.File, filepath.ToSlash(filepath.Clean(data))+"/") {
			one.Source = "external"
		}
		if p, ok := store.Profile(name); ok {
			one.Profile = &listedProfile{p.Name, p.Description, p.Default, p.Values}
		}
		all = append(all, one)
	}
	return all
}

func keeps(filter, c recipe.Criteria) bool {
	own := c.Spelled()
	has := own.Fields()
	for i, f := range filter.Fields() {
		if *f != "" && *f != *has[i] {
			return false
		}
	}
	return true
}

func (a *app) printList(all []listed, format string) error {
	var text []byte
	var err error
	switch format {
	case "json":
		text, err = cli.DocumentJSON(all)
	case "yaml":
		text, err = cli.DocumentYAML(all)
	case "name":
		for _, o := range all {
			text = append(text, o.Name+"\n"...)
		}
		text = []byte(cli.Inert(string(text)))
	default:
		names := recipe.CriteriaNames()
		rows := [][]string{{"NAME"}}
		for _, n := range names {
			rows[0] = append(rows[0], strings.ToUpper(n))
		}
		rows[0] = append(rows[0], "LEAF", "PROFILE", "SOURCE")
		for _, o := range all {
			leaf, profile := "no", "-"
			if o.IsLeaf {
				leaf = "yes"
			}
			if o.Profile != nil {
				profile = o.Profile.Name + ": " + strings.Join(o.Profile.Values, ", ")
			}
			rows = append(rows, []string{o.Name, o.Criteria.Service, o.Criteria.Accelerator, o.Criteria.Intent, o.Criteria.OS, o.Criteria.Platform, leaf, profile, o.Source})
		}
		text = []byte(cli.Inert(cli.Table(rows)))
	}
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write(text)
	return err
}
