package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvidia/aicr-action/internal/reason"
)

// FlagValues is the closed set of values of a command's flag; nil for a flag that has none.
type FlagValues func(cmd *cobra.Command, flag string) []string

// addCompletions makes the shell complete the names of recipes, and the values of flags that have a closed set of them. The scripts for
// bash, zsh, fish and PowerShell are cobra's: `PROGRAM completion SHELL`.
func (a *App) addCompletions(root *cobra.Command, values FlagValues) error {
	var failed error
	for _, c := range root.Commands() {
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

// completeRecipes gives the recipes of --recipes-dir as far as it is typed already. Recipes that cannot be read complete to nothing: the
// place to say what is wrong with them is not a shell's prompt.
func (a *App) completeRecipes(several bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !several {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var dirs RecipeDirs
		for name, value := range map[string]*string{"recipes-dir": &dirs.Recipes, "data": &dirs.Data} {
			var err error
			if *value, err = cmd.Flags().GetString(name); err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
		}
		store, _, err := a.Recipes(dirs)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, name := range store.Names() {
			if o, ok := store.Overlay(name); ok && o.Testable() && !slices.Contains(args, name) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
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

// CompleteReasons completes the name of a reason, as the only argument.
func CompleteReasons(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, row := range reason.Table() {
			names = append(names, row.Name())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
