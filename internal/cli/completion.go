package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// addCompletions makes the shell complete the names of recipes and deployers, and the values of flags that have a closed set of them.
// The scripts for bash, zsh, fish and PowerShell are cobra's: `matrix completion SHELL`.
func (a *app) addCompletions(root *cobra.Command) error {
	for _, c := range root.Commands() {
		if strings.Contains(c.Use, "RECIPE") {
			c.ValidArgsFunction = a.completeRecipes(strings.Contains(c.Use, "RECIPE..."))
		}
		if c.Name() == "explain" {
			c.ValidArgsFunction = completeReasons
		}
		closed := map[string][]string{"deployer": append(deployerNames(), "all"), "charts": {"simulated"}, "tier": {"auto", "1", "2", "3"}}
		switch c.Name() {
		case "bundle":
			closed["deployer"] = deployerNames() // one of them
		case "discover":
			closed["format"] = []string{"table", "json", "github", "cells"}
		case "run", "version", "doctor":
			closed["output"] = []string{"table", "json"}
		}
		for flag, values := range closed {
			if c.Flags().Lookup(flag) == nil {
				continue
			}
			if err := c.RegisterFlagCompletionFunc(flag, completeList(values, flag)); err != nil {
				return err
			}
		}
	}
	return nil
}

// completeRecipes gives the recipes of --recipes-dir as far as it is typed already. Recipes that cannot be read complete to nothing: the
// place to say what is wrong with them is not a shell's prompt.
func (a *app) completeRecipes(several bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !several {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		dir, err := cmd.Flags().GetString("recipes-dir")
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		store, _, err := a.recipes(dir)
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

func completeReasons(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, row := range exitCodes() {
			names = append(names, row.name())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
