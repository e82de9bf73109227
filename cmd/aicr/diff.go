package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
)

// diffFlags say which snapshots are compared, and when that fails.
type diffFlags struct {
	baseline, target, output, format, kubeconfig string
	failOnDrift                                  bool
}

// drift is what aicr diff prints, with the keys of AICR's own CLI.
type drift struct {
	BaselineSource string            `json:"baselineSource"`
	TargetSource   string            `json:"targetSource"`
	Changes        []snapshot.Change `json:"changes"`
	Summary        driftSummary      `json:"summary"`
}

type driftSummary struct {
	Added    int `json:"added"`
	Removed  int `json:"removed"`
	Modified int `json:"modified"`
	Total    int `json:"total"`
}

func (a *app) diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use: "diff [BASELINE TARGET]", Short: "Say what is not alike in two snapshots",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return fmt.Errorf("diff takes two snapshots, and got %d", len(args))
			}
			return nil
		},
		Long: `Compare two snapshots reading by reading: what was added, removed or is another value, by its path. When and where they were taken
makes no difference. A reading that has no value is <nil>, which is not the empty text.

The snapshots are two arguments, or --baseline and --target. With --fail-on-drift, a difference ends with code 2.`,
		Example: `  aicr diff before.yaml after.yaml --format table
  aicr diff --baseline before.yaml --target after.yaml --format json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				if f.baseline != "" || f.target != "" {
					return cli.Usagef("diff: give the snapshots as arguments, or with --baseline and --target")
				}
				f.baseline, f.target = args[0], args[1]
			}
			return a.diff(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.baseline, "baseline", "b", "", "`address` of the snapshot to compare with: a file, https://…, cm://NAMESPACE/NAME, or -")
	flags.StringVar(&f.target, "target", "", "`address` of the snapshot to compare")
	flags.BoolVar(&f.failOnDrift, "fail-on-drift", false, "end with code 2 if anything is not alike")
	flags.StringVarP(&f.output, "output", "o", "-", "`address` to write the result to: a file, cm://NAMESPACE/NAME, or - for standard output")
	flags.StringVarP(&f.format, "format", "t", "yaml", "output format: yaml, json or table")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` for cm:// addresses (default: KUBECONFIG, ~/.kube/config, or the pod's own cluster)")
	return cmd
}

func (a *app) diff(ctx context.Context, f diffFlags) error {
	switch {
	case f.baseline == "":
		return cli.Usagef("--baseline: name the snapshot to compare with, or give both as arguments")
	case f.target == "":
		return cli.Usagef("--target: name the snapshot to compare, or give both as arguments")
	case f.baseline == "-" && f.target == "-":
		return cli.Usagef("--baseline and --target cannot both be read from standard input")
	}
	if err := checkOutput("diff", f.output, f.format); err != nil {
		return err
	}
	baseline, err := a.readSnapshot(ctx, f.kubeconfig, f.baseline)
	if err != nil {
		return err
	}
	target, err := a.readSnapshot(ctx, f.kubeconfig, f.target)
	if err != nil {
		return err
	}
	made := drift{BaselineSource: f.baseline, TargetSource: f.target, Changes: snapshot.Diff(baseline, target)}
	for _, c := range made.Changes {
		switch c.Kind {
		case snapshot.Added:
			made.Summary.Added++
		case snapshot.Removed:
			made.Summary.Removed++
		default:
			made.Summary.Modified++
		}
	}
	made.Summary.Total = len(made.Changes)
	data, err := made.print(f.format)
	if err != nil {
		return err
	}
	if err := a.places(f.kubeconfig).Write(ctx, "diff", f.output, f.format, data); err != nil {
		return err
	}
	if made.Summary.Total > 0 && f.failOnDrift {
		return &cli.Reported{Err: cli.Usagef("the snapshots are not alike")}
	}
	return nil
}

// readSnapshot reads a snapshot, and says if it is of a newer version than any that is known.
func (a *app) readSnapshot(ctx context.Context, kubeconfig, address string) (*snapshot.Snapshot, error) {
	data, called, err := a.places(kubeconfig).Read(ctx, "snapshot", address)
	if err != nil {
		return nil, err
	}
	taken, err := snapshot.Read(called, data)
	if err != nil {
		return nil, cli.WrapUsage(err)
	}
	if taken.Note != "" {
		a.note("warning: %s", taken.Note)
	}
	return taken, nil
}

func (d *drift) print(format string) ([]byte, error) {
	switch format {
	case "json":
		return cli.DocumentJSON(d)
	case "table":
		return []byte(cli.Inert(d.table())), nil
	}
	return cli.DocumentYAML(d)
}

func (d *drift) table() string {
	if d.Summary.Total == 0 {
		return "the snapshots are alike\n"
	}
	side := func(value *string) string {
		if value == nil {
			return "-"
		}
		if text := []rune(*value); len(text) > widestValue {
			return string(text[:widestValue]) + "…"
		}
		return fmt.Sprintf("%q", *value)
	}
	rows := [][]string{{"CHANGE", "PATH", "BASELINE", "TARGET"}}
	for _, c := range d.Changes {
		rows = append(rows, []string{c.Kind, c.Path, side(c.Baseline), side(c.Target)})
	}
	s := d.Summary
	return cli.Table(rows) + fmt.Sprintf("\n%d added, %d removed, %d modified\n", s.Added, s.Removed, s.Modified)
}
