package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/cli/docio"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
	"github.com/nvidia/aicr-action/internal/verify/snapshot/collect"
)

// snapshotFlags say what is measured.
type snapshotFlags struct {
	output, format, kubeconfig string
	only                       []string
	timeout                    time.Duration
	agent                      agentFlags
}

func (a *app) snapshotCommand() *cobra.Command {
	f := snapshotFlags{agent: agentFlags{forNodes: true}}
	cmd := &cobra.Command{
		Use: "snapshot", Short: "Measure this machine and its cluster", Args: cobra.NoArgs,
		Long: `Measure the cluster (version, images, policies of operators, labels and taints of nodes) and this machine (operating system,
services of systemd, GPUs), and write the readings as a document of kind Snapshot, which aicr recipe and aicr validate read.

The parts are measured side by side, each within --timeout. One that cannot be measured is left out, and a warning says why: on a machine
without GPUs there is no reading of GPUs. It is an error if nothing could be measured.

With --agent, a Job on a node with GPUs takes the snapshot, and everything of it is removed afterwards.`,
		Example: `  aicr snapshot -o snapshot.yaml
  aicr snapshot --format table
  aicr snapshot -o cm://gpu-operator/aicr-snapshot
  aicr snapshot --agent --image registry.example.com/aicr:1 -o snapshot.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.snapshot(cmd, f) },
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "-", "`address` to write the snapshot to: a file, cm://NAMESPACE/NAME, or - for standard output")
	cmd.Flags().StringVar(&f.format, "format", "yaml", "output format: yaml, json or table")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "measure only these `types`: "+strings.Join(collect.Types(), ", ")+" (default: all)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", collect.DefaultTimeout, "time for each part")
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the cluster (default: KUBECONFIG, ~/.kube/config, or the pod's own cluster)")
	f.agent.register(cmd, "take the snapshot with a Job on a node with GPUs")
	return cmd
}

func (a *app) snapshot(cmd *cobra.Command, f snapshotFlags) error {
	if err := checkOutput("snapshot", f.output, f.format); err != nil {
		return err
	}
	for _, kind := range f.only {
		if !slices.ContainsFunc(collect.Types(), func(t string) bool { return strings.EqualFold(t, kind) }) {
			return cli.Usagef("--only %q: want %s", kind, strings.Join(collect.Types(), ", "))
		}
	}
	if f.timeout <= 0 {
		return cli.Usagef("--timeout %s: want more than 0", f.timeout)
	}
	if err := f.agent.check(cmd); err != nil {
		return err
	}
	if f.agent.on {
		taken, err := a.snapshotInCluster(cmd.Context(), f)
		if err != nil {
			return err
		}
		return a.writeSnapshot(cmd.Context(), f, taken)
	}
	options := collect.Options{Only: f.only, Timeout: f.timeout, Version: cli.BuildOf(released).Version, Now: time.Now(), Log: slog.Default()}
	options.Kube, options.Dynamic, options.NoCluster = a.cluster(f.kubeconfig)
	taken, failures := collect.Take(cmd.Context(), options)
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	if len(taken.Measurements) == 0 {
		var why []string
		for _, failure := range failures {
			why = append(why, failure.Error())
		}
		return reason.New(reason.ClusterAccess, "nothing could be measured: %s", strings.Join(why, "; "))
	}
	for _, failure := range failures {
		a.note("warning: %s", failure)
	}
	return a.writeSnapshot(cmd.Context(), f, taken)
}

func (a *app) writeSnapshot(ctx context.Context, f snapshotFlags, taken *snapshot.Snapshot) error {
	data, err := printSnapshot(taken, f.format)
	if err != nil {
		return err
	}
	return a.places(f.kubeconfig).Write(ctx, "snapshot", f.output, f.format, data)
}

// checkOutput rejects an unknown format, and an address to which the document cannot be written.
func checkOutput(kind docio.Kind, output, format string) error {
	if !slices.Contains(formats(), format) {
		return cli.Usagef("--format %q: want %s", format, strings.Join(formats(), ", "))
	}
	if format == "table" && strings.HasPrefix(output, "cm://") {
		return cli.Usagef("--format table: nothing can read a table from a ConfigMap; write yaml or json to %s", output)
	}
	return docio.CheckOutput(kind, output)
}

func printSnapshot(s *snapshot.Snapshot, format string) ([]byte, error) {
	switch format {
	case "json":
		return cli.DocumentJSON(s)
	case "table":
		return []byte(cli.Inert(snapshotTable(s))), nil
	}
	return cli.DocumentYAML(s)
}

// widestValue is how much of a value a table shows.
const widestValue = 80

func snapshotTable(s *snapshot.Snapshot) string {
	rows := [][]string{{"TYPE", "SUBTYPE", "KEY", "VALUE"}}
	for _, m := range s.Measurements {
		for _, sub := range m.Subtypes {
			for _, key := range slices.Sorted(maps.Keys(sub.Data)) {
				value := strings.Join(strings.Fields(sub.Data[key].String()), " ")
				if len(value) > widestValue {
					value = fmt.Sprintf("%.*s…", widestValue, value)
				}
				rows = append(rows, []string{m.Type, sub.Name, key, dash(value)})
			}
		}
	}
	return cli.Table(rows)
}
