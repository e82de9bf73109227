package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/report"
)

func (a *app) reportCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "report FILE...", Short: "Print results files as Markdown, HTML, JUnit XML or GitHub annotations", Args: cobra.MinimumNArgs(1),
		Long: `Print the results of one or more ` + report.FileName + ` as one report on stdout. The exit code is 0 even if cells failed.
A file that cannot be read is named in the report, and the exit code is 2.`,
		Example: `  matrix report out/` + report.FileName + ` --format html > report.html
  matrix report shard-*/` + report.FileName + ` --format md >> "$GITHUB_STEP_SUMMARY"`,
		RunE: func(_ *cobra.Command, args []string) error { return a.report(args, format) },
	}
	cmd.Flags().StringVar(&format, "format", "md", "format: md, html, junit or annotations (GitHub workflow commands, at most 10)")
	return cmd
}

func (a *app) report(files []string, format string) error {
	var write func(*report.Report) func(io.Writer) error
	switch format {
	case "md":
		write = func(r *report.Report) func(io.Writer) error {
			return func(w io.Writer) error { return r.WriteMarkdown(cli.NewInertWriter(w)) } // Markdown reads a backslash as this does
		}
	case "html":
		write = func(r *report.Report) func(io.Writer) error { return inertMarkup(r.WriteHTML) }
	case "junit":
		write = func(r *report.Report) func(io.Writer) error { return inertMarkup(r.WriteJUnit) }
	case "annotations":
		at, err := checkout(a.Getenv)
		if err != nil {
			return err
		}
		write = func(r *report.Report) func(io.Writer) error {
			return func(w io.Writer) error { return report.WriteAnnotations(w, r.Annotations(at)) }
		}
	default:
		return cli.Usagef("--format %q: want md, html, junit or annotations", format)
	}
	r, unread := report.ReadAll(files, bundle.Names())
	if len(unread) == len(files) {
		return cli.WrapUsage(errors.Join(unread...))
	}
	r.Code = cli.CodeInReport
	if err := write(r)(a.Stdout); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return cli.WrapUsage(errors.Join(unread...))
}

// inertMarkup writes a document to a step's log, where it must not have commands to the runner.
func inertMarkup(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		_, err := w.Write(cli.InertMarkup(b.Bytes()))
		return err
	}
}

func (a *app) mergeCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "merge FILE... -o OUT", Short: "Merge the results files of shards into one", Args: cobra.MinimumNArgs(1),
		Long: `Merge several ` + report.FileName + ` into one. If several files contain the same cell, the latest attempt wins and earlier ones
become notes. A file that cannot be read, a shard that no file has, and shards that were divided differently are named in the merged file, which is then
not healthy; what there is is merged all the same, and the exit code is 2.`,
		Example: `  matrix merge shard-*/` + report.FileName + ` -o ` + report.FileName,
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return cli.Usagef("--output: name a file for the merged results")
			}
			if info, err := os.Stat(out); err == nil && info.IsDir() {
				out = filepath.Join(out, report.FileName)
			}
			r, unread := report.ReadAll(args, bundle.Names())
			missing := r.WantShards()
			r.Code = cli.CodeInReport
			if err := (report.Files{Results: out}).Write(r); err != nil {
				return reason.Wrap(infra.DiskReason(err, reason.Usage), err)
			}
			if _, err := fmt.Fprintf(a.Stderr, "%d of %d files merged into %s: %s\n", len(args)-len(unread), len(args), out, report.TotalsText(r.Results)); err != nil {
				return err
			}
			return cli.WrapUsage(errors.Join(append(unread, missing...)...))
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` to write, or a directory for "+report.FileName)
	return cmd
}
