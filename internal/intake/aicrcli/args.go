package aicrcli

// args.go has the arguments that a user adds to those of AICR's CLI. It must not know what they mean.

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// everyRecipe stands for the recipes that a file of arguments does not name.
const everyRecipe = "*"

// Args are arguments by recipe, and by the command that gets them. The zero value has none.
type Args struct{ of map[string]commandArgs }

type commandArgs struct {
	Recipe []string `yaml:"recipe"`
	Bundle []string `yaml:"bundle"`
}

// own gives the flags of each command that this program passes itself.
func own() map[string][]string {
	return map[string][]string{
		"recipe": {"output", "data", "service", "accelerator", "gpu", "intent", "os", "platform", "nodes", "profile", "format"},
		"bundle": {"output", "data", "recipe", "deployer", "repo", "plain-http", "system-node-selector", "system-node-toleration", "accelerated-node-selector", "accelerated-node-toleration"},
	}
}

// ParseArgs reads the values of --aicr-args: a command and its arguments, separated by blanks, or @FILE, which has them by
// recipe.
func ParseArgs(values []string) (Args, error) {
	a := Args{of: map[string]commandArgs{}}
	for _, value := range values {
		if file, ok := strings.CutPrefix(value, "@"); ok {
			if err := a.file(file); err != nil {
				return a, err
			}
			continue
		}
		command, rest, _ := strings.Cut(strings.TrimSpace(value), " ")
		all := a.of[everyRecipe]
		switch words := strings.Fields(rest); {
		case len(words) == 0:
			return a, fmt.Errorf("%q: want a command of AICR's CLI and its arguments, e.g. 'recipe --runtime-inventory=enabled', or @FILE", value)
		case command == "recipe":
			all.Recipe = append(all.Recipe, words...)
		case command == "bundle":
			all.Bundle = append(all.Bundle, words...)
		default:
			return a, fmt.Errorf("%q: the commands of AICR's CLI that get arguments are recipe and bundle; write one of them first", value)
		}
		a.of[everyRecipe] = all
	}
	for _, name := range slices.Sorted(maps.Keys(a.of)) {
		if err := errors.Join(allowed("recipe", a.of[name].Recipe), allowed("bundle", a.of[name].Bundle)); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a Args) file(name string) error {
	text, err := filesys.Regular(name, mostFile)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no file %s; behind @ stands the name of one with arguments by recipe", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var of map[string]commandArgs
	if err := yamlx.DecodeStrict(text, &of); err != nil {
		p := yamlx.Problems(err)[0]
		return fmt.Errorf("%s:%d: %s; want a recipe (or \"*\"), and below it recipe: or bundle: with a list of arguments", name, p.Line, p.Text)
	}
	for recipe, more := range of {
		all := a.of[recipe]
		all.Recipe, all.Bundle = append(all.Recipe, more.Recipe...), append(all.Bundle, more.Bundle...)
		a.of[recipe] = all
	}
	return nil
}

// allowed refuses what would change where this program finds what the CLI makes, or of what it is made.
func allowed(command string, args []string) error {
	for _, arg := range args {
		name, long := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		switch {
		case !long && strings.HasPrefix(arg, "-"):
			return fmt.Errorf("%s: %q: write the flag with its long name", command, arg)
		case name == "":
			return fmt.Errorf("%s: %q is no flag", command, arg)
		case long && slices.Contains(own()[command], name):
			return fmt.Errorf("%s: --%s is a flag that matrix passes itself (%s); leave it out", command, name, lists.And(own()[command]))
		}
	}
	return nil
}

// Of gives the arguments of a command for a recipe: those for every recipe, and then its own.
func (a Args) Of(recipe, command string) []string {
	var all []string
	for _, name := range []string{everyRecipe, recipe} {
		if command == "recipe" {
			all = append(all, a.of[name].Recipe...)
		} else {
			all = append(all, a.of[name].Bundle...)
		}
	}
	return all
}

// Recipes are the names that a file has, sorted.
func (a Args) Recipes() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a.of)), func(name string) bool { return name == everyRecipe })
}
