package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// ParityCommand is `matrix parity`.
func ParityCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var sources []string
	f := runFlags{pace: pace{maxStrikes: schedule.DefaultMax}, bundles: bundlerFlags{bundler: builtinBundler}}
	cmd := cli.ExitCodesInHelp(&cobra.Command{
		Use:   "parity RECIPE",
		Short: "Run a recipe on both platforms and compare verdicts and objects",
		Long: `Run a recipe's lanes on embedded and then in Kind clusters, and compare each cell's verdict, number of pods and
objects. A difference on the reviewed list (kwok/parity.yaml) is printed with its reason; any other is PLATFORM_DIVERGENCE (59). Parity
needs what ` + "`matrix run`" + ` needs on both platforms; docs/kind.md lists the known differences.

With --operators it compares embedded with itself instead: a cell whose operators are simulated, and one whose operators run. The list is
kwok/parity-operators.yaml; docs/limits.md explains the differences.

With --stack ONE,OTHER it compares embedded with itself, too: with programs of the one source and of the other, e.g. images,modules. No
difference is known.`,
		Example: `  matrix parity eks-training
  matrix parity eks-training --deployer helm,flux-oci --artifacts out
  matrix parity eks-training --deployer helm --operators auto
  matrix parity eks-training --stack images,modules`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.parity(cmd.Context(), args, f, sources) },
	})
	cmd.Flags().StringSliceVarP(&f.deployers, "deployer", "d", []string{"all"}, "deployers: all, which is AICR's own, or a list of "+strings.Join(bundle.Names(), ", "))
	cli.ChartsFlag(cmd, &f.charts, "chart `source`, as for matrix run; not direct")
	cli.RecipesFlags(cmd, &f.recipes)
	cli.ProfilesFlag(cmd, &f.profiles)
	cmd.Flags().StringVar(&f.artifacts, "artifacts", "", "`directory` for logs, bundles and debug artifacts of failures, one per cell and platform (default: none is kept)")
	cli.OutputFlag(cmd, &f.output)
	cmd.Flags().IntVar(&f.parallel, "parallel", 0, "cells at a time (default: as for matrix run on each platform)")
	f.platform.RegisterImages(cmd)
	cmd.Flags().StringVar(&f.platform.Operators, platform.OperatorsFlag, "", "auto or real: compare simulated operators with those instead of platforms")
	cmd.Flags().StringSliceVar(&sources, stackFlag, nil, "compare programs of these two `sources` instead of platforms, e.g. images,modules")
	return cmd
}

// paritySide is one of the two runs: on which platform, and how its operators are.
type paritySide struct {
	platform  platform.Platform
	operators string
	name      string        // empty: that of the platform
	source    *stack.Origin // of programs; nil for the one of the command
}

// paritySides are what is compared, and the list of known differences.
func paritySides(operators string) ([2]paritySide, []compare.KnownDifference, error) {
	if operators == "" {
		on := platform.All()
		known, err := cli.KnownDifferences()
		return [2]paritySide{{platform: on[0]}, {platform: on[1]}}, known, err
	}
	mode, err := programs.ParseMode(operators)
	if err != nil || mode == programs.Simulated {
		return [2]paritySide{}, nil, cli.Usagef("--%s %q: want %s or %s, which are compared with %s", platform.OperatorsFlag, operators, programs.Auto, programs.Real, programs.Simulated)
	}
	known, err := cli.KnownOperatorDifferences()
	on := platform.Default()
	return [2]paritySide{{platform: on, name: "stand-ins"}, {platform: on, operators: operators, name: "operators"}}, known, err
}

// sourceSides are what is compared with --stack.
func (a *app) sourceSides(sources []string) ([2]paritySide, error) {
	if len(sources) != 2 || sources[0] == sources[1] {
		return [2]paritySide{}, cli.Usagef("--%s: name two different sources of programs, e.g. images,modules", stackFlag)
	}
	var sides [2]paritySide
	for i, text := range sources {
		source, err := stack.ParseSource(text)
		if err != nil || text == "" {
			return sides, cli.Usagef("--%s %w", stackFlag, err)
		}
		sides[i] = paritySide{platform: platform.Default(), name: text, source: a.Origin.With(source)}
	}
	return sides, nil
}

// use has the command's programs come from where the side's do.
func (a *app) use(side paritySide) error {
	if side.source == nil {
		return nil
	}
	if err := a.OpenStacks(); err != nil { // the other side keeps its own
		return err
	}
	a.UseOrigin(side.source)
	return nil
}

// parity refuses what cannot run on either platform before anything is started on one of them.
func (a *app) parity(ctx context.Context, args []string, f runFlags, sources []string) error {
	f.charts = cli.ChartValues(f.charts)
	compared, known, err := paritySides(f.platform.Operators)
	if len(sources) > 0 && f.platform.Operators != "" {
		return cli.Usagef("--%s and --%s exclude each other: one difference is compared at a time", platform.OperatorsFlag, stackFlag)
	}
	if len(sources) > 0 {
		known = nil
		compared, err = a.sourceSides(sources)
	}
	if err != nil {
		return err
	}
	for _, side := range compared {
		if err := side.platform.Refuse(false, f.wanted()...); err != nil {
			return err
		}
	}
	var runs [2]*prepared
	var sides [2]matrix.Side
	for i, side := range compared {
		f, p := f, side.platform
		f.platform.Cluster, f.platform.Operators = p.Name, side.operators
		if _, none := p.Limits.Lacks[infra.ImageArchive]; none {
			f.platform.Images = ""
		}
		if err := a.use(side); err != nil {
			return err
		}
		if runs[i], err = a.prepareRun(ctx, args, f); err != nil {
			return err
		}
		r := runs[i].runner
		sides[i] = matrix.Side{Name: side.name, Runner: r, Plans: runs[i].plans, AtATime: a.cellsAtATime(f.parallel, len(runs[i].plans), r.MemoryPerCell(), p, false)}
	}
	for _, this := range slices.Backward(runs[:]) { // what the last one needs is the more likely to be missing
		if err := a.ready(ctx, this); err != nil {
			return err
		}
	}
	for _, side := range sides {
		dir, err := host.OpenRunDir(a.Paths, side.Runner.RunID)
		if err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.Internal), err)
		}
		defer func() {
			if err := dir.Close(); err != nil {
				_, _ = fmt.Fprintf(a.Stderr, "warning: remove the run's directory: %s\n", err)
			}
		}()
		side.Runner.Dir = dir.Path
	}
	pairs, err := matrix.Parity(ctx, sides, known)
	a.Progress.Close()
	if printing := a.printParity(pairs, [2]string{sides[0].Called(), sides[1].Called()}, f.output); printing != nil {
		return errors.Join(err, printing)
	}
	if err != nil {
		return err
	}
	var results []result.Result
	for _, p := range pairs {
		results = append(results, p.Results[0], p.Results[1])
	}
	return reports.RunError(ctx, results, nil)
}

// parityRow is a cell in the output.
type parityRow struct {
	result.Cell
	// Verdicts are by side: by platform, or by how operators are.
	Verdicts map[string]string `json:"verdicts"`
	// Objects were compared; 0 unless the cell passed on both.
	Objects int      `json:"objects"`
	Known   []string `json:"known"`
	Unknown []string `json:"unknown"`
}

func (a *app) printParity(pairs []matrix.Pair, sides [2]string, format string) error {
	rows := []parityRow{}
	table := [][]string{{"CELL", strings.ToUpper(sides[0]), strings.ToUpper(sides[1]), "OBJECTS", "KNOWN", "DIFFERENCES"}}
	var details strings.Builder
	for _, p := range pairs {
		verdict := func(r result.Result) string { return strings.TrimSpace(fmt.Sprintf("%s %s", r.Status, r.Reason)) }
		row := parityRow{p.Cell, map[string]string{p.Results[0].Cluster: verdict(p.Results[0]), p.Results[1].Cluster: verdict(p.Results[1])}, p.Objects, append([]string{}, p.Known...), append([]string{}, p.Unknown...)}
		rows = append(rows, row)
		table = append(table, []string{p.Cell.String(), verdict(p.Results[0]), verdict(p.Results[1]), fmt.Sprint(p.Objects), fmt.Sprint(len(p.Known)), fmt.Sprint(len(p.Unknown))})
		for _, r := range p.Results {
			if r.Status != result.Passed {
				_, _ = fmt.Fprintf(&details, "%s on %s: %s\n", p.Cell, r.Cluster, r.Cause)
			}
		}
		for _, line := range p.Known {
			_, _ = fmt.Fprintf(&details, "%s  known: %s\n", p.Cell, line)
		}
		for _, line := range p.Unknown {
			_, _ = fmt.Fprintf(&details, "%s  differs: %s\n", p.Cell, line)
		}
	}
	if format == "json" {
		return cli.PrintJSON(a.Stdout, rows)
	}
	_, err := io.WriteString(a.Stdout, cli.Table(table)+details.String())
	return err
}
