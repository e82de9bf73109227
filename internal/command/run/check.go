package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// CheckCommand is `matrix check`.
func CheckCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var f runFlags
	var format string
	var served bool
	cmd := cli.ExitCodesInHelp(&cobra.Command{
		Use:   "check [RECIPE...]",
		Short: "Check what recipes render, without a cluster, in seconds",
		Long: `Render each recipe, or what --app or --bundle-dir names, and run every check that needs no cluster. Words and exit codes are those of
` + "`matrix run`" + `, which runs these checks first and then delivers.

With --served, an API server of its own is asked about every object, too: it creates the namespaces and the definitions, and
tries all else in a dry run. That takes about 4 s more for each cell, and shows every object that it refuses, and every field
that it drops. Webhooks and policies of the recipe are not asked.

A good answer here is no pass: what the scheduler and the deployers' controllers say is known only from a run.
` + "`matrix list checks`" + ` lists the checks, and ` + "`matrix explain MX101`" + ` says what one means.`,
		Example: `  matrix check eks-training
  matrix check --app ./my-chart
  matrix check --all --output sarif > checks.sarif`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "json", "sarif"}, format) {
				return cli.Usagef("--output %q: want text, json or sarif", format)
			}
			if f.bundles.app != "" && !cmd.Flags().Changed("deployer") {
				f.deployers = []string{"all"} // the lane of what is there
			}
			return a.check(cmd.Context(), args, f, format, served)
		},
	})
	cmd.Flags().StringSliceVarP(&f.deployers, "deployer", "d", []string{"helm"}, "deployers whose bundles are checked: all, or a list of "+strings.Join(bundle.Names(), ", "))
	cli.ChartsFlag(cmd, &f.charts, "chart `source`, as of matrix run")
	cli.RecipesFlags(cmd, &f.recipes)
	cli.ProfilesFlag(cmd, &f.profiles)
	cmd.Flags().BoolVar(&f.all, "all", false, "check every recipe that sets a service")
	cmd.Flags().StringVar(&f.profile, "profile", "", "value of the recipes' profile, as `NAME=VALUE`")
	cmd.Flags().StringVarP(&format, "output", "o", "text", "output format: text, json or sarif (2.1.0, for GitHub's code scanning)")
	cmd.Flags().BoolVar(&served, "served", false, "have an API server answer for every object, too, on a cluster of its own")
	f.mixins.register(cmd)
	f.bundles.register(cmd)
	f.ignored.register(cmd)
	f.platform.Register(cmd)
	hideAll(cmd, platform.PlatformFlag, platform.KubernetesFlag, platform.ArgoCDFlag, platform.FluxFlag, "operators")
	return cmd
}

// hideAll leaves flags out of the help that mean little to a command.
func hideAll(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f != nil {
			f.Hidden = true
		}
	}
}

// checkedCell is a cell in JSON.
type checkedCell struct {
	result.Cell
	Reason   reason.Reason    `json:"reason,omitempty"`
	Objects  int              `json:"objects"`
	Findings []result.Finding `json:"findings,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
}

func (a *app) check(ctx context.Context, args []string, f runFlags, format string, served bool) error {
	start := time.Now()
	this, err := a.prepareRun(ctx, args, f)
	if this != nil {
		defer this.close()
	}
	if err != nil {
		return err
	}
	if served {
		dir, err := host.OpenRunDir(a.Paths, this.runner.RunID)
		if err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.Internal), err)
		}
		defer func() { _ = dir.Close() }() // what stays is removed by the next run
		this.runner.Dir = dir.Path
		if err := a.readyWith(ctx, this, nil); err != nil {
			return err
		}
	}
	var all []matrix.Checked
	for _, p := range this.plans {
		all = append(all, this.runner.Check(ctx, p, served))
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
	}
	a.Progress.Close()
	results := resultsOf(this.runner, all)
	switch format {
	case "json":
		err = cli.PrintJSON(a.Stdout, map[string]any{"cells": checkedCells(all, results)})
	case "sarif":
		meta := report.Meta{Tool: cli.BuildOf(a.Released).Version, Rules: reports.Rules()}
		if meta.Checkout, err = reports.RepositoryAt(a.Getenv); err == nil {
			err = (&report.Report{Meta: meta, Results: results}).WriteSARIF(a.Stdout)
		}
	default:
		err = writeChecked(cli.NewInertWriter(a.Stdout), all, results, time.Since(start), served)
	}
	if err != nil {
		return err
	}
	stages := []judge.Stage{judge.Rendered}
	if served {
		stages = append(stages, judge.Served)
	}
	for _, line := range unused(this.runner.Bench, recipesOf(results), stages...) {
		_, _ = fmt.Fprintln(a.Stderr, "warning: "+line)
	}
	for i := range results {
		if all[i].Err != nil {
			return &cli.Reported{Err: &reason.Error{Reason: results[i].Reason, Err: fmt.Errorf("%s: %s", all[i].Cell, results[i].Cause)}}
		}
	}
	return nil
}

// resultsOf are the cells as results, for reports. None of them is a pass.
func resultsOf(runner *matrix.Runner, all []matrix.Checked) (results []result.Result) {
	for i := range all {
		v := result.Verdict{Status: result.Skipped, Cause: "checked without a delivery"}
		if all[i].Err != nil {
			v = result.VerdictOf(all[i].Err)
		}
		r := runner.NotRun(all[i].Cell, v)
		r.Judged, r.Warnings = all[i].Judged, all[i].Warnings
		results = append(results, r)
	}
	return results
}

func checkedCells(all []matrix.Checked, results []result.Result) []checkedCell {
	out := []checkedCell{}
	for i := range all {
		c := checkedCell{Cell: all[i].Cell, Objects: all[i].Objects, Warnings: all[i].Warnings, Findings: slices.Clone(results[i].Findings)}
		if all[i].Err != nil {
			c.Reason = results[i].Reason
		}
		for _, f := range all[i].Judged {
			if f.Severity != result.SeverityError || f.Ignored != "" {
				c.Findings = append(c.Findings, f)
			}
		}
		out = append(out, c)
	}
	return out
}

// said is one message of several cells.
type said struct {
	text  string
	cells []result.Cell
}

// add adds a message, or a cell to one that was said already.
func add(all []said, text string, of result.Cell) []said {
	i := slices.IndexFunc(all, func(s said) bool { return s.text == text })
	if i < 0 {
		return append(all, said{text, []result.Cell{of}})
	}
	all[i].cells = append(all[i].cells, of)
	return all
}

// writeChecked prints errors, then warnings, each once, with the place first as compilers have it.
func writeChecked(w io.Writer, all []matrix.Checked, results []result.Result, took time.Duration, served bool) error {
	var errors, warnings, ignored []said
	objects := 0
	for i := range all {
		objects = max(objects, all[i].Objects)
		if all[i].Err != nil {
			for _, f := range results[i].Findings {
				errors = add(errors, errorText(cmp.Or(f.Reason, results[i].Reason), f), all[i].Cell)
			}
		}
		for _, line := range all[i].Warnings {
			warnings = add(warnings, "warning: "+line, all[i].Cell)
		}
		for _, f := range all[i].Judged {
			if f.Ignored != "" {
				ignored = add(ignored, "ignored: "+f.Cause+": "+f.Ignored, all[i].Cell)
			}
		}
	}
	var text strings.Builder
	for _, s := range slices.Concat(errors, warnings, ignored) {
		text.WriteString(s.text)
		if len(all) > 1 {
			fmt.Fprintf(&text, "  in %s\n", cellNames(s.cells, len(all)))
		}
		text.WriteString("\n")
	}
	fmt.Fprintf(&text, "%s, %s", lists.Count(len(errors), "error"), lists.Count(len(warnings), "warning"))
	if len(ignored) > 0 {
		fmt.Fprintf(&text, ", %d ignored", len(ignored))
	}
	with := "no cluster"
	if served {
		with = "an API server, nothing delivered"
	}
	fmt.Fprintf(&text, " in %s (%.1f s, %s). For what only a cluster shows: matrix run\n", lists.Count(len(all), "cell"), took.Seconds(), with)
	_, err := io.WriteString(w, strings.ReplaceAll(text.String(), "\n\nwarning", "\nwarning"))
	return err
}

func errorText(r reason.Reason, f result.Finding) string {
	at := ""
	if f.Place.File != "" {
		at = f.Place.String() + ": "
	}
	text := fmt.Sprintf("%serror: %s (%s, exit code %d)\n", at, f.Cause, r, r.Code())
	for i, line := range f.Story {
		if i > 0 || line != f.Cause {
			text += "  " + strings.TrimSpace(line) + "\n"
		}
	}
	return text
}

// cellNames names the cells, or counts them where all are meant.
func cellNames(cells []result.Cell, of int) string {
	if len(cells) == of {
		return fmt.Sprintf("all %d cells", of)
	}
	var names []string
	for _, c := range cells {
		names = append(names, c.String())
	}
	if len(names) > 4 {
		names = append(names[:4], fmt.Sprintf("%d more", len(cells)-4))
	}
	return strings.Join(names, ", ")
}

func recipesOf(results []result.Result) (names []string) {
	for i := range results {
		names = append(names, results[i].Recipe)
	}
	return names
}
