package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/report"
)

func (a *app) reportCommand() *cobra.Command {
	var format, run string
	cmd := &cobra.Command{
		Use: "report FILE...", Short: "Print results files as Markdown, HTML, JUnit XML or GitHub annotations", Args: cobra.MinimumNArgs(1),
		Long: `Print the results of one or more ` + report.FileName + ` as one report on stdout. The exit code is 0 even if cells failed.
A file that cannot be read is named in the report, and the exit code is 2.`,
		Example: `  matrix report out/` + report.FileName + ` --format html > report.html
  matrix report shard-*/` + report.FileName + ` --format md >> "$GITHUB_STEP_SUMMARY"`,
		RunE: func(_ *cobra.Command, args []string) error { return a.report(args, format, run) },
	}
	cmd.Flags().StringVar(&format, "format", "md", "format: md, html, junit, annotations (GitHub workflow commands, at most 10), or comment (Markdown below 64 KiB, for a pull request)")
	cmd.Flags().StringVar(&run, "run-url", "", "with --format comment, the `address` of the CI run whose results these are: a comment has links and downloads for this run only")
	return cmd
}

func (a *app) report(files []string, format, run string) error {
	var write func(*report.Report) func(io.Writer) error
	switch format {
	case "md":
		write = func(r *report.Report) func(io.Writer) error {
			return func(w io.Writer) error { return r.WriteMarkdown(cli.NewInertWriter(w)) } // Markdown reads a backslash as this does
		}
	case "comment":
		write = func(r *report.Report) func(io.Writer) error {
			return func(w io.Writer) error { return r.WriteComment(cli.NewInertWriter(w), run) }
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
		return cli.Usagef("--format %q: want md, html, junit, annotations or comment", format)
	}
	if run != "" && format != "comment" {
		return cli.Usagef("--run-url is for --format comment, got --format %s", format)
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
