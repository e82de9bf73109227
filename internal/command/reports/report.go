// Package reports has the commands that read the results of a run, report, merge and replay, and
// what a run prints and leaves at its end.
package reports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/report"
)

// app is what the commands of this package share.
type app struct {
	*cli.App
	ci *CIFiles // of the command merge
}

// ReportCommand is `matrix report`.
func ReportCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var f reportVerb
	cmd := &cobra.Command{
		Use: "report FILE...", Short: "Print results files as Markdown, HTML, JUnit XML or GitHub annotations, or write a Check Run", Args: cobra.MinimumNArgs(1),
		Long: `Print the results of one or more ` + report.FileName + ` as one report on stdout. The exit code is 0 even if cells failed.
A file that cannot be read is named in the report, and the exit code is 2.

With --check-run, writes the report as a Check Run of GitHub instead: a check of its own on the commit, with an annotation for each
root cause. It needs GITHUB_TOKEN with the permission checks: write. A token without it, e.g. that of a pull request from a fork,
leaves the Check Run out, which stderr says in one line; the exit code is 0.`,
		Example: `  matrix report out/` + report.FileName + ` --format html > report.html
  matrix report shard-*/` + report.FileName + ` --format md >> "$GITHUB_STEP_SUMMARY"
  matrix report out/` + report.FileName + ` --check-run "AICR recipes" --commit "$SHA"`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.report(cmd.Context(), args, f) },
	}
	cmd.Flags().StringVar(&f.format, "format", "md", "format: md, html, junit, sarif (2.1.0), annotations (GitHub workflow commands, at most 10), or comment (Markdown below 64 KiB, for a pull request)")
	cmd.Flags().StringVar(&f.run, "run-url", "", "with --format comment and --check-run, the `address` of the CI run whose results these are: they have links and downloads for this run only")
	cmd.Flags().StringVar(&f.check, "check-run", "", "write a Check Run of this `name` on GitHub instead of printing")
	cmd.Flags().StringVar(&f.commit, "commit", "", "with --check-run, the `SHA` of the commit that it is for (default: GITHUB_SHA)")
	cmd.Flags().StringVar(&f.ended, "run-conclusion", "", "with --check-run, how the CI run ended by GitHub's word: anything but success makes the Check Run a failure")
	return cmd
}

// reportVerb are the flags of report.
type reportVerb struct{ format, run, check, commit, ended string }

func (a *app) report(ctx context.Context, files []string, f reportVerb) error {
	if f.check != "" {
		return a.checkRun(ctx, files, f)
	}
	if f.commit+f.ended != "" {
		return cli.Usagef("--commit and --run-conclusion are for --check-run NAME")
	}
	format, run := f.format, f.run
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
	case "sarif":
		at, err := RepositoryAt(a.Getenv)
		if err != nil {
			return err
		}
		write = func(r *report.Report) func(io.Writer) error {
			r.Checkout, r.Rules = at, Rules()
			return r.WriteSARIF
		}
	case "annotations":
		at, err := checkout(a.Getenv)
		if err != nil {
			return err
		}
		write = func(r *report.Report) func(io.Writer) error {
			return func(w io.Writer) error { return report.WriteAnnotations(w, r.Annotations(at)) }
		}
	default:
		return cli.Usagef("--format %q: want md, html, junit, sarif, annotations or comment", format)
	}
	if run != "" && format != "comment" {
		return cli.Usagef("--run-url is for --format comment, got --format %s", format)
	}
	r, unread := readReport(files)
	if r == nil {
		return unread
	}
	if err := write(r)(a.Stdout); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return unread
}

// readReport reads results files as one report, which is nil if none can be read, and says which
// cannot.
func readReport(files []string) (*report.Report, error) {
	r, unread := report.ReadAll(files, bundle.Names())
	err := cli.WrapUsage(errors.Join(unread...))
	if len(unread) == len(files) {
		return nil, err
	}
	r.Code = cli.CodeInReport
	return r, err
}

// checkRun writes a Check Run. One that the token may not write is left out.
func (a *app) checkRun(ctx context.Context, files []string, f reportVerb) error {
	at, err := checkout(a.Getenv)
	if err != nil {
		return err
	}
	r, unread := readReport(files)
	if r == nil {
		return unread
	}
	made := r.CheckRun(at, f.run, f.ended)
	made.Name, made.Commit = f.check, cli.FirstOf(f.commit, a.Getenv("GITHUB_SHA"))
	api := report.CheckRunAPI{URL: strings.TrimRight(cli.FirstOf(a.Getenv("GITHUB_API_URL"), "https://api.github.com"), "/"), Repository: a.Getenv("GITHUB_REPOSITORY"), Token: a.Getenv("GITHUB_TOKEN")}
	if err := api.Check(made); err != nil {
		return cli.Usagef("--check-run %s: %w", f.check, err)
	}
	page, err := api.Write(ctx, made)
	var denied *report.DeniedError
	switch {
	case errors.As(err, &denied):
		_, err = fmt.Fprintln(a.Stderr, cli.Inert(fmt.Sprintf("Check Run %q is left out: %v", f.check, err)))
	case err != nil:
		err = fmt.Errorf("write the Check Run %q: %w", f.check, err)
	default:
		_, err = fmt.Fprintln(a.Stdout, cli.Inert(page))
	}
	return errors.Join(err, unread)
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
