package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// configFlag is --config: a file that says what flags are not given for.
type configFlag struct {
	address string
	// from are the flags that have a value of the file.
	from map[string]aicrConfigValue
}

func (f *configFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.address, "config", "", "`address` of an AICRConfig document: a file, https://… or -; flags override what it sets")
}

// apply sets the flags that the file has values for and that are not given. Fields that stand for
// one of the flags except are left out.
func (a *app) applyConfig(ctx context.Context, cmd *cobra.Command, f *configFlag, section string, except ...string) error {
	f.from = map[string]aicrConfigValue{}
	if f.address == "" {
		return nil
	}
	if strings.HasPrefix(f.address, "cm://") {
		return cli.Usagef("--config %s: it is read from a file, https://… or -; get it with kubectl first", f.address)
	}
	data, called, err := a.places("").Read(ctx, "config", f.address)
	if err != nil {
		return err
	}
	config, err := readAICRConfig(called, data)
	if err != nil {
		return cli.WrapUsage(err)
	}
	for _, n := range config.Notes {
		a.note("warning: %s", n)
	}
	values := config.Values(section)
	if len(values) == 0 {
		a.note("note: %s has nothing for aicr %s", called, cmd.Name())
	}
	// A document of criteria is nearer than the file, and replaces all of its criteria.
	if c := cmd.Flags().Lookup("criteria"); c != nil && c.Changed {
		names := recipe.CriteriaNames()
		except = append(append(except, names[:]...), "nodes")
	}
	for _, v := range values {
		if slices.Contains(except, v.Flag) || cmd.Flags().Changed(v.Flag) {
			continue
		}
		f.from[v.Flag] = v
		for _, text := range v.Texts {
			if err := cmd.Flags().Set(v.Flag, text); err != nil {
				return cli.Usagef("%s: %s: %w", v.At, v.Field, err)
			}
		}
	}
	return nil
}

// place says where the value of a refused flag is from, if that is the file.
func (f *configFlag) place(err error) error {
	if err == nil {
		return nil
	}
	rest, ok := strings.CutPrefix(err.Error(), "--")
	name := rest
	if end := strings.IndexAny(rest, " :="); end >= 0 {
		name = rest[:end]
	}
	v, fromFile := f.from[name]
	var quiet *cli.Reported
	if !ok || !fromFile || errors.As(err, &quiet) {
		return err
	}
	return fmt.Errorf("%s: %s: %w", v.At, v.Field, err)
}
