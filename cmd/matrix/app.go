package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/cli"
)

// app is what all commands share.
type app struct {
	cli.App
	ci ciFiles // of the command run
}

// run is the whole program without its process: it takes arguments and returns an exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	a := &app{App: cli.New(getenv, stdout, stderr), ci: ciFiles{getenv: getenv}}
	return a.Execute(ctx, a.rootCommand(), args, a.ci.end)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:         "matrix",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: displayName(os.Args[0])},
		Version:     cli.BuildOf(released).Version,
		Short:       "Run AICR recipes through their deployers on a simulated GPU cluster",
		Long: `matrix runs AICR recipes through their deployers (helm, Argo CD, Flux) on a real Kubernetes control plane
whose nodes KWOK simulates, and says whether every pod landed where the recipe says it must.
` + "`matrix explain`" + ` lists the exit codes.`,
		Example: `  matrix run eks-training --deployer helm,flux-oci
  matrix explain 51`,
	}
	return a.Root(root, flagValues,
		cli.CommandGroup{ID: "run", Title: "Run recipes:", Commands: []*cobra.Command{a.runCommand(), a.checkCommand(), a.parityCommand(), a.listCommand(), a.discoverCommand(), a.bundleCommand(), a.chartsCommand()}},
		cli.CommandGroup{ID: "results", Title: "Read results and find causes:", Commands: []*cobra.Command{a.explainCommand(), a.whyCommand(), a.whyRunCommand(), a.replayCommand(), a.reportCommand(), a.mergeCommand()}},
		cli.CommandGroup{ID: "workflows", Title: "Run jobs on virtual nodes:", Commands: []*cobra.Command{a.workflowCommand()}},
		cli.CommandGroup{ID: "clusters", Title: "Persistent clusters:", Commands: []*cobra.Command{a.clusterCommand(), a.nodesCommand()}},
		cli.CommandGroup{ID: "machine", Title: "This machine:", Commands: []*cobra.Command{a.doctorCommand(), a.stackCommand(), a.imagesCommand(), a.schemaCommand(), manCommand(), a.versionCommand()}},
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
