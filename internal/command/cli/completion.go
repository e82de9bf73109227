package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvidia/aicr-action/internal/command/cli/inventory"
)

// FlagValues is the closed set of values of a command's flag; nil for a flag that has none.
type FlagValues func(cmd *cobra.Command, flag string) []string

// addCompletions makes the shell complete the names of recipes, and the values of flags that have a
// closed set of them. The scripts for bash, zsh, fish and PowerShell are cobra's: `PROGRAM
// completion SHELL`.
func (a *App) addCompletions(root *cobra.Command, values FlagValues) error {
	var failed error
	for _, c := range root.Commands() {
		if c.HasSubCommands() {
			failed = errors.Join(failed, a.addCompletions(c, values))
		}
		if strings.Contains(c.Use, "RECIPE") {
			c.ValidArgsFunction = a.completeRecipes(strings.Contains(c.Use, "RECIPE..."))
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if closed := values(c, f.Name); closed != nil && failed == nil {
				failed = c.RegisterFlagCompletionFunc(f.Name, completeList(closed, f.Name))
			}
		})
	}
	return failed
}

// completeRecipes gives the recipes of `list recipes` that set a service, each with what it is for
// or why it cannot be run here, by the flags that are typed already. Recipes that cannot be read
// complete to nothing: the place to say what is wrong with them is not a shell's prompt.
func (a *App) completeRecipes(several bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !several {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		from := InventoryFlags{Charts: []string{Simulated}}
		for name, value := range map[string]*string{"recipes-dir": &from.Recipes.Recipes, "data": &from.Recipes.Data, "profiles": &from.Profiles} {
			if f := cmd.Flags().Lookup(name); f != nil { // not every command has profiles
				*value = f.Value.String()
			}
		}
		if given, err := cmd.Flags().GetStringArray("charts"); err == nil { // nor charts
			from.Charts = given
		}
		sources, err := a.Inventory(from)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		recipes, err := inventory.Recipes(cmd.Context(), sources)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for i := range recipes {
			if r := &recipes[i]; r.Tier > 0 && !slices.Contains(args, r.Name) {
				names = append(names, cobra.CompletionWithDesc(r.Name, Inert(describe(r))))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// describe is a recipe in a few words.
func describe(r *inventory.Recipe) string {
	if !r.Runnable {
		return "cannot be run here: " + r.Brief()
	}
	words := []string{fmt.Sprintf("tier %d", r.Tier)}
	for _, word := range []string{r.Criteria.Service, r.Criteria.Accelerator, r.Criteria.Intent, r.Criteria.OS, r.Criteria.Platform} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

// completeList completes the last of a comma separated list. Chart sources can also be directories.
func completeList(values []string, flag string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		given := strings.Split(before, ",")
		var out []string
		for _, v := range values {
			if !slices.Contains(given, v) {
				out = append(out, before+v)
			}
		}
		if flag == "charts" {
			return out, cobra.ShellCompDirectiveFilterDirs
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
