package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// reportFlags say which reports a run leaves.
type reportFlags struct {
	dir                           string // of all that have no path of their own
	results, junit, html, summary string
	progress                      string
	artifact                      string // its name
	history                       string // of earlier runs
	// explain lists on the terminal what every run has, too.
	explain bool
}

func (f *reportFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "report", "", "`directory` for all reports: "+report.FileName+" (CTRF), junit.xml, report.html, summary.md and checks.sarif; --results, --junit, --html and --summary override it")
	cmd.Flags().StringVar(&f.results, "results", "", "`directory` for "+report.FileName+" (CTRF); written again after every cell, as the other reports are")
	cmd.Flags().StringVar(&f.junit, "junit", "", "`file` for a JUnit XML report")
	cmd.Flags().StringVar(&f.html, "html", "", "`file` for an HTML report that needs no network")
	cmd.Flags().StringVar(&f.summary, "summary", "", "`file` for a Markdown report below 1 MiB, e.g. \"$GITHUB_STEP_SUMMARY\"")
	cmd.Flags().StringVar(&f.artifact, "artifact-name", "", "`name` under which the CI job uploads the directory of --artifacts: reports then say how to download it")
	cmd.Flags().StringVar(&f.history, "history", "", "`file` with how cells ended in earlier runs, as of matrix merge: failures are new or not, and unchanged warnings are folded; this run is added")
	cmd.Flags().BoolVar(&f.explain, "explain", false, "print all remarks, also those that are the same in every run: what was not verified, the sandbox, stand-ins, overrides")
	cmd.Flags().StringVar(&f.progress, "progress", "text", "text: lines for people on stderr; json: also a JSON object per event on stdout, and the table on stderr")
}

func (f *reportFlags) files() report.Files {
	files := report.Files{JUnit: f.junit, HTML: f.html, Markdown: f.summary}
	if results := cli.FirstOf(f.results, f.dir); results != "" {
		files.Results = filepath.Join(results, report.FileName)
	}
	if f.dir != "" {
		files.JUnit = cli.FirstOf(f.junit, filepath.Join(f.dir, "junit.xml"))
		files.HTML = cli.FirstOf(f.html, filepath.Join(f.dir, "report.html"))
		files.Markdown = cli.FirstOf(f.summary, filepath.Join(f.dir, "summary.md"))
		files.SARIF = filepath.Join(f.dir, "checks.sarif")
	}
	return files
}

// reporter keeps a run's reports up to date while it runs.
type reporter struct {
	files   report.Files
	meta    report.Meta
	skipped []result.Result
	plans   []matrix.Plan
	runner  *matrix.Runner
	ci      *reports.CIFiles
	upload  string        // the name of CI's artifact with the cells' debug artifacts; empty without one
	events  *cli.EventLog // nil without --progress json
	explain bool          // print all remarks
	proof   *evidenceFile // nil without --evidence
	// err is why a report could not be written during the run; the run goes on, and ends with it.
	err error
	// soFar writes the reports while cells run.
	soFar paced[[]result.Result]
}

// openReports writes the first reports, in which nothing has run: a place that cannot be written to
// is said before anything is started, and a run that is killed in its first cell leaves a report
// too.
func (a *app) openReports(ctx context.Context, run runFlags, this *prepared) (*reporter, error) {
	f, output := run.reports, run.output
	runner, plans, skipped := this.runner, this.plans, this.skipped
	r := &reporter{files: f.files(), plans: plans, skipped: skipped, runner: runner, ci: a.ci, upload: f.artifact, explain: f.explain}
	switch {
	case f.progress == "json" && output == "json":
		return nil, cli.Usagef("--progress json and -o json both want stdout; --results DIR writes the results to a file")
	case f.progress == "json":
		r.events = cli.NewEventLog(a.Stdout)
		runner.OnEvent = r.events.Tell
	case f.progress != "text":
		return nil, cli.Usagef("--progress %q: want text or json", f.progress)
	}
	r.meta = report.Meta{Tool: cli.BuildOf(a.Released).Version, RunID: runner.RunID, Started: time.Now().UTC(), CI: report.CIFromEnv(a.Getenv), Shards: this.shards, Code: cli.CodeInReport, Rules: reports.Rules()}
	var err error
	if r.meta.Checkout, err = reports.RepositoryAt(a.Getenv); err != nil {
		return nil, err
	}
	r.proof = a.openEvidence(ctx, run, this, r)
	if err := r.write(r.notRun(result.Verdict{Status: result.NotRun, Reason: reason.Interrupted, Cause: "the run had not come to this cell when this was written"})); err != nil {
		return nil, reason.Wrap(infra.DiskReason(err, reason.Usage), err)
	}
	if r.files.Any() || r.ci.Wanted() || r.proof != nil {
		r.soFar.write = func(results []result.Result) { r.err = errors.Join(r.err, r.write(append(results, skipped...))) }
		runner.OnResult = r.soFar.give
	}
	if r.events != nil {
		r.events.Begin(runner.RunID, len(plans)+len(skipped))
	}
	return r, nil
}

// compare marks the results with what a history has of their cells, and adds them to it.
func (r *reporter) compare(a *app, results []result.Result, history string) error {
	meta := r.meta
	meta.Written = time.Now().UTC()
	return reports.CompareWithHistory(a.App, &report.Report{Meta: meta, Results: results}, history)
}

func (r *reporter) notRun(why result.Verdict) []result.Result {
	var results []result.Result
	for _, p := range r.plans {
		results = append(results, r.runner.NotRun(p.Cell, why))
	}
	return append(results, r.skipped...)
}

func (r *reporter) write(results []result.Result) error {
	meta := r.meta
	meta.Written = time.Now().UTC()
	all := &report.Report{Meta: meta, Results: r.uploaded(results)}
	return errors.Join(r.files.Write(all), r.ci.Write(all), r.proof.write(results))
}

// uploaded adds to the results where CI stores their debug artifacts, since a path on a runner is
// lost with the runner.
func (r *reporter) uploaded(results []result.Result) []result.Result {
	ci := r.meta.CI
	if r.upload == "" || ci.RunID == "" {
		return results
	}
	all := slices.Clone(results)
	for i := range all {
		if c := &all[i]; c.Artifacts != "" {
			c.Upload = &result.Upload{Artifact: r.upload, Directory: filepath.Base(c.Artifacts), Snapshot: reports.HowToReplay(c.Artifacts) != "", Repository: ci.Repository, Run: ci.RunID, URL: ci.URL}
			if server, ok := strings.CutPrefix(ci.URL, "https://"); ok && !strings.HasPrefix(server, "github.com/") {
				c.Upload.Server, _, _ = strings.Cut(server, "/")
			}
		}
	}
	return all
}

// setupFailed reports a run that ended before its first cell.
func (r *reporter) setupFailed(err error) error {
	return r.close(r.notRun(result.Verdict{Status: result.NotRun, Reason: reason.Of(err), Cause: err.Error()}), err)
}

// close writes the last reports and returns the run's error: failed, or the error of writing. A
// report that cannot be written never hides why the run failed, and a run does not pass without its
// reports.
func (r *reporter) close(results []result.Result, failed error) error {
	r.soFar.stop()
	// A report that could not be written once, but can now, is whole.
	err := r.write(results)
	if err != nil {
		err = reason.Wrap(infra.DiskReason(err, reason.Internal), errors.Join(err, r.err))
	}
	if r.events != nil {
		if e := r.events.End(results, cli.CodeOf(errors.Join(failed, err))); e != nil {
			err = errors.Join(err, fmt.Errorf("write the events of --progress json: %w", e))
		}
	}
	return reports.WithReports(failed, err)
}
