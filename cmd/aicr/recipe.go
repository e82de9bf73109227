package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
)

func formats() []string { return []string{"yaml", "json", "table"} }

func (a *app) recipeCommand() *cobra.Command {
	var f queryFlags
	var output, format, inheritFrom string
	cmd := &cobra.Command{
		Use: "recipe", Short: "Generate the recipe for a kind of cluster", Args: cobra.NoArgs,
		Long: `Generate the recipe for the cluster that the criteria describe: a RecipeResult with the components, their order and the constraints.
A criterion that is not given is any: what only fits one value of it is left out. The same input gives the same bytes.

With --snapshot, service, accelerator and operating system are inferred from what was measured, as well as it tells them, and an overlay
whose constraints do not hold on that system is left out. Both are said on stderr.`,
		Example: `  aicr recipe --service eks --accelerator h100 --intent training
  aicr recipe --criteria criteria.yaml --os ubuntu -o recipe.yaml
  aicr recipe --config aicr-config.yaml --os ubuntu
  aicr recipe --snapshot snapshot.yaml --intent training`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.applyConfig(cmd.Context(), cmd, &f.config, aicrConfigRecipe); err != nil {
				return err
			}
			if err := checkOutput("recipe", output, format); err != nil {
				return f.config.place(err)
			}
			store, result, err := a.resolve(cmd.Context(), f)
			if err != nil {
				return f.config.place(err)
			}
			if result, err = store.WithHealthChecks(result); err != nil {
				return cli.WrapUsage(err)
			}
			if inheritFrom != "" {
				deployed, err := a.side(cmd.Context(), "--inherit-from", inheritFrom, f.kubeconfig)
				if err != nil {
					return err
				}
				lines, err := inherit(result, deployed)
				if err != nil {
					return err
				}
				for _, line := range lines {
					a.note("note: %s", line)
				}
			}
			data, err := printRecipe(result, format)
			if err != nil {
				return err
			}
			return a.places(f.kubeconfig).Write(cmd.Context(), "recipe", output, format, data)
		},
	}
	cmd.AddCommand(a.recipeListCommand())
	f.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "-", "`address` to write the recipe to: a file, cm://NAMESPACE/NAME, or - for standard output")
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml, json or table")
	cmd.Flags().StringVar(&inheritFrom, "inherit-from", "", "`address` of the recipe that is deployed, or its bundle's directory: its components stay in their namespaces, with their charts and manifests")
	return cmd
}

func printRecipe(r *recipe.Result, format string) ([]byte, error) {
	switch format {
	case "json":
		text, err := r.JSON()
		if err != nil {
			return nil, err
		}
		return cli.InertDocument(text)
	case "table":
		return []byte(cli.Inert(recipeTable(r))), nil
	}
	text, err := r.YAML()
	if err != nil {
		return nil, err
	}
	return cli.InertDocument(text)
}

func recipeTable(r *recipe.Result) string {
	c := r.Criteria
	nodes := recipe.Any
	if c.Nodes > 0 {
		nodes = strconv.Itoa(c.Nodes)
	}
	text := cli.Table([][]string{
		{"SERVICE", "ACCELERATOR", "INTENT", "OS", "PLATFORM", "NODES"},
		{c.Service, c.Accelerator, c.Intent, c.OS, c.Platform, nodes},
	})
	text += "\noverlays: " + strings.Join(r.Metadata.AppliedOverlays, ", ") + "\n"
	for _, constraint := range r.Constraints {
		text += fmt.Sprintf("constraint: %s %s\n", constraint.Name, constraint.Value)
	}
	refs := map[string]recipe.ComponentRef{}
	for _, ref := range r.ComponentRefs {
		refs[ref.Name] = ref
	}
	rows := [][]string{{"#", "COMPONENT", "VERSION", "NAMESPACE", "SOURCE", "AFTER"}}
	for i, name := range r.DeploymentOrder {
		ref := refs[name]
		if ref.LeftOut() {
			name += " (left out)"
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), name, dash(cli.FirstOf(ref.Version, ref.Tag)), dash(ref.Namespace), dash(ref.Source), dash(strings.Join(ref.DependencyRefs, ", "))})
	}
	return text + "\n" + cli.Table(rows)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
