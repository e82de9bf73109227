package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/bundles"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/clusters"
	"github.com/nvidia/aicr-action/internal/command/inspect"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/command/run"
	"github.com/nvidia/aicr-action/internal/command/workflows"
)

// execute is the whole program without its process: it takes arguments and returns an exit code.
func execute(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	a, ci := cli.New(getenv, stdout, stderr), reports.NewCIFiles(getenv)
	a.Released = released
	return a.Execute(ctx, rootCommand(a, ci), args, ci.End)
}

func rootCommand(a *cli.App, ci *reports.CIFiles) *cobra.Command {
	root := &cobra.Command{
		Use:         "matrix",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: cli.DisplayName(os.Args[0])},
		Version:     cli.BuildOf(released).Version,
		Short:       "Run AICR recipes through their deployers on a simulated GPU cluster",
		Long: `matrix runs AICR recipes through their deployers (helm, Argo CD, Flux) on a real Kubernetes control plane
whose nodes KWOK simulates, and says whether every pod landed where the recipe says it must.
` + "`matrix explain`" + ` lists the exit codes.`,
		Example: `  matrix run eks-training --deployer helm,flux-oci
  matrix explain 51`,
	}
	return a.Root(root, flagValues,
		cli.CommandGroup{ID: "run", Title: "Run recipes:", Commands: []*cobra.Command{run.RunCommand(a, ci), run.CheckCommand(a), run.ParityCommand(a), inspect.ListCommand(a), run.DiscoverCommand(a), bundles.BundleCommand(a), bundles.ChartsCommand(a)}},
		cli.CommandGroup{ID: "results", Title: "Read results and find causes:", Commands: []*cobra.Command{inspect.ExplainCommand(a), inspect.WhyCommand(a), run.WhyRunCommand(a), reports.ReplayCommand(a), reports.ReportCommand(a), reports.MergeCommand(a, ci)}},
		cli.CommandGroup{ID: "workflows", Title: "Run jobs on virtual nodes:", Commands: []*cobra.Command{workflows.WorkflowCommand(a)}},
		cli.CommandGroup{ID: "clusters", Title: "Persistent clusters:", Commands: []*cobra.Command{clusters.ClusterCommand(a), clusters.NodesCommand(a)}},
		cli.CommandGroup{ID: "machine", Title: "This machine:", Commands: []*cobra.Command{inspect.DoctorCommand(a), clusters.StackCommand(a), clusters.ImagesCommand(a), inspect.SchemaCommand(a), manCommand(), inspect.VersionCommand(a)}},
	)
}

// flagValues are what the shell completes flags to.
func flagValues(c *cobra.Command, flag string) []string {
	switch flag {
	case "deployer":
		if c.Name() == "bundle" {
			return bundle.Names() // one of them
		}
		return append(bundle.Names(), "all")
	case "charts":
		return cli.ChartSources()
	case "tier":
		return []string{"auto", "1", "2", "3"}
	case "format":
		if c.Name() == "discover" {
			return []string{"table", "json", "github", "cells"}
		}
	case "output":
		switch c.Name() {
		case "list":
			return []string{"table", "json", "yaml", "name"}
		case "check":
			return []string{"text", "json", "sarif"}
		case "run", "parity", "version", "doctor": // run is also workflow run's
			return []string{"table", "json"}
		}
	}
	return nil
}
