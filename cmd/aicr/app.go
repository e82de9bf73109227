package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/cli/docio"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/verify/snapshot/collect"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// app is what all commands share.
type app struct {
	*cli.App
	stdin io.Reader
	// client connects to the cluster of a kubeconfig.
	client func(kubeconfig string) (kubernetes.Interface, error)
	// dynamic connects to the same, for kinds that this program has no types of.
	dynamic func(kubeconfig string) (dynamic.Interface, error)
}

// cluster connects to the cluster of a kubeconfig.
func (a *app) cluster(kubeconfig string) (kubernetes.Interface, dynamic.Interface, error) {
	kube, err := a.client(kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	dyn, err := a.dynamic(kubeconfig)
	return kube, dyn, err
}

func newDynamic(kubeconfig string) (dynamic.Interface, error) {
	config, err := docio.NewConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

// run is the whole program without its process: it takes arguments and returns an exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	a := &app{App: cli.New(getenv, stdout, stderr), stdin: os.Stdin, client: docio.NewClient, dynamic: newDynamic}
	return a.execute(ctx, args)
}

func (a *app) execute(ctx context.Context, args []string) int {
	a.Bare, a.ExitRow = true, exitRow
	return a.Execute(ctx, a.rootCommand(), args, func(err error) error { return err })
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:     "aicr",
		Version: cli.BuildOf(released).Version,
		Short:   "Generate AICR recipes, bundle them for a deployer, and compare clusters with them",
		Long: `aicr generates recipes for GPU clusters on Kubernetes from AICR's recipe files, answers what a recipe sets, writes the files by
which Helm, Argo CD or Flux deploys it, measures clusters, and compares them with a recipe.`,
		Example: `  aicr recipe --service eks --accelerator h100 --intent training -o recipe.yaml
  aicr bundle -r recipe.yaml -o ./bundles`,
	}
	return a.Root(root, flagValues,
		cli.CommandGroup{ID: "recipes", Title: "Recipes:", Commands: []*cobra.Command{a.recipeCommand(), a.queryCommand(), a.bundleCommand(), a.verifyCommand(), a.upgradeCheckCommand()}},
		cli.CommandGroup{ID: "clusters", Title: "Clusters:", Commands: []*cobra.Command{a.snapshotCommand(), a.validateCommand(), a.diffCommand()}},
		cli.CommandGroup{ID: "other", Title: "About this program:", Commands: []*cobra.Command{a.explainCommand(), a.versionCommand()}},
	)
}

// flagValues are what the shell completes flags to.
func flagValues(c *cobra.Command, flag string) []string {
	if known, ok := recipe.KnownCriteria()[flag]; ok {
		return known
	}
	switch flag {
	case "deployer":
		if c.Name() == "upgrade-check" {
			return recipe.UpgradeDeployers()
		}
		return bundle.Names()
	case "charts":
		return append([]string{noCharts}, cli.ChartSources()...)
	case "format":
		if c.Name() == "query" {
			return []string{"yaml", "json"}
		}
		if c.Name() == "validate" {
			return validationFormats()
		}
		if c.Name() == "list" {
			return listFormats()
		}
		if c.Name() == "verify" {
			return verifyFormats()
		}
		return formats()
	case "phase":
		names := []string{"all"}
		for _, p := range validate.Phases() {
			names = append(names, string(p))
		}
		return names
	case "only":
		return collect.Types()
	case "output":
		if c.Name() == "version" {
			return []string{"table", "json"}
		}
	}
	return nil
}

func (a *app) explainCommand() *cobra.Command {
	return a.ExplainCommand(cli.Explained{Rows: exitCodes()})
}

func (a *app) versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := cli.BuildOf(released)
			if output == cli.AsJSON {
				return cli.PrintJSON(a.Stdout, b)
			}
			_, err := io.WriteString(a.Stdout, cli.Table([][]string{{"aicr", b.Version, b.Revision}, {"go", b.Go, b.Platform}}))
			return err
		},
	}
	cli.OutputFlag(cmd, &output)
	return cmd
}

// places opens what addresses lead to; the kubeconfig is the flag's.
func (a *app) places(kubeconfig string) docio.Places {
	return docio.Places{
		Stdin: a.stdin, Stdout: a.Stdout, Getenv: a.Getenv, Log: slog.Default(),
		Warn:   func(text string) { a.note("warning: %s", text) },
		Client: func() (kubernetes.Interface, error) { return a.client(kubeconfig) },
	}
}

// note prints a message for people that is no error.
func (a *app) note(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Stderr, format+"\n", args...)
}
