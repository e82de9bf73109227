package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
)

func (a *app) queryCommand() *cobra.Command {
	var f queryFlags
	var selector, format string
	cmd := &cobra.Command{
		Use: "query", Short: "Print a value of the recipe for a kind of cluster", Args: cobra.NoArgs,
		Long: `Resolve a recipe as aicr recipe does, merge the values of each of its components, and print what is at the selector: a scalar as
plain text, a map or a list as YAML, or everything as JSON with --format json.

A selector is a path with dots: criteria, metadata, constraints, deploymentOrder, components.NAME and its fields, and
components.NAME.values with the merged Helm values. A leading dot means nothing; elements of lists have numbers, from 0. A key with
dots in it is written as it is. The empty selector is everything.

The exit code is 3 if there is nothing at the selector.`,
		Example: `  aicr query --service eks --accelerator h100 --intent training --selector components.gpu-operator.values.driver.version
  aicr query --service eks --accelerator h100 --intent training --selector deploymentOrder --format json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.applyConfig(cmd.Context(), cmd, &f.config, aicrConfigRecipe, "output", "format"); err != nil {
				return err
			}
			switch {
			case format != "yaml" && format != "json":
				return cli.Usagef("--format %q: want yaml or json", format)
			case !cmd.Flags().Changed("selector"):
				return cli.Usagef("--selector: name the value to print, e.g. components.gpu-operator.version, or . for everything")
			}
			store, result, err := a.resolve(cmd.Context(), f)
			if err != nil {
				return f.config.place(err)
			}
			doc, err := store.Hydrate(result)
			if err != nil {
				return cli.WrapUsage(err)
			}
			value, err := document.Select(doc, selector)
			var none *document.NoSuchPathError
			if errors.As(err, &none) {
				return &cli.No{Err: httpstatus.With(http.StatusNotFound, err)}
			}
			if err != nil {
				return err
			}
			return printValue(a.Stdout, value, format)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&selector, "selector", "", "`path` of the value, with dots; . for everything")
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml (a scalar is plain text) or json")
	return cmd
}

func printValue(w io.Writer, value any, format string) error {
	if format == "json" {
		text, err := cli.DocumentJSON(value)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	switch value.(type) {
	case map[string]any, []any:
		text, err := cli.DocumentYAML(value)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	_, err := io.WriteString(w, cli.Inert(scalar(value)+"\n"))
	return err
}

// scalar is a value for use in a shell: without quotes, and a number as a person writes it.
func scalar(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}
