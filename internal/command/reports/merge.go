package reports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/discover"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// maxPlan is the largest plan that is read, in bytes: ten times that of ten thousand cells.
const maxPlan = 32 << 20

type mergeFlags struct {
	out, plan, history          string
	output                      string
	html, junit, summary, sarif string
}

// MergeCommand is `matrix merge`.
func MergeCommand(shared *cli.App, ci *CIFiles) *cobra.Command {
	a := &app{App: shared, ci: ci}
	var f mergeFlags
	cmd := &cobra.Command{
		Use: "merge [FILE|DIR]... --to OUT", Short: "Merge the results files of shards or jobs into one report",
		Long: `Merge several ` + report.FileName + ` into one; a directory stands for every file of that name below it. If several files contain the same
cell, the latest attempt wins and earlier ones become notes. A file that cannot be read, a shard that no file has, and shards that were divided differently are named in
the merged file, which is then not healthy; the rest is merged, and the exit code is 2.

With --plan, which takes what matrix discover --plan wrote, the exit code is that of a run of all planned cells: 0 only if each has a result
and none is red. A planned cell without a result is listed as not run. A result of another run of the same CI, or of a cell that was not planned, is not taken,
and the code is 2. If the plan has no cell, nothing was checked, and the code is 3.

--history FILE compares with earlier runs: each red cell is new, already red, or flaky (it passed and failed with the same inputs). This run is then added
to the file.`,
		Example: `  matrix merge shard-*/` + report.FileName + ` --to ` + report.FileName + `
  matrix merge results --plan plan.json --to out --html out/report.html --summary "$GITHUB_STEP_SUMMARY"`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.merge(cmd.Context(), args, f) },
	}
	cli.ToFlag(cmd, &f.out, &f.output, "`file` to write, or a directory for "+report.FileName)
	cmd.Flags().StringVar(&f.plan, "plan", "", "`file` of matrix discover --plan: every planned cell must have a result, and the exit code is that of a run")
	cmd.Flags().StringVar(&f.history, "history", "", "`file` with how cells ended in earlier runs; this run is added. It need not exist")
	cmd.Flags().StringVar(&f.html, "html", "", "`file` for an HTML report that needs no network")
	cmd.Flags().StringVar(&f.junit, "junit", "", "`file` for a JUnit XML report")
	cmd.Flags().StringVar(&f.sarif, "sarif", "", "`file` for a SARIF 2.1.0 log of the findings, for GitHub's code scanning")
	cmd.Flags().StringVar(&f.summary, "summary", "", "`file` for a Markdown report below 1 MiB, e.g. \"$GITHUB_STEP_SUMMARY\"")
	a.ci.Register(cmd)
	return cmd
}

func (a *app) merge(ctx context.Context, args []string, f mergeFlags) error {
	switch {
	case f.out == "":
		return cli.Usagef("--to: name a file for the merged results")
	case len(args) == 0 && f.plan == "":
		return cli.Usagef("no results to merge: name files or directories")
	}
	if info, err := os.Stat(f.out); err == nil && info.IsDir() {
		f.out = filepath.Join(f.out, report.FileName)
	}
	var plan []result.Result
	if f.plan != "" {
		var err error
		if plan, err = readPlan(f.plan); err != nil {
			return cli.WrapUsage(err)
		}
	}
	files, err := resultsFiles(args)
	if err != nil {
		return cli.WrapUsage(err)
	}
	ci := report.CIFromEnv(a.Getenv)
	r, problems := report.ReadAll(files, bundle.Names(), func(r *report.Report) error {
		if f.plan != "" && ci.RunID != "" && r.CI.RunID != ci.RunID {
			return fmt.Errorf("it is of run %s, and this is run %s", cmp.Or(r.CI.RunID, "(none of a CI)"), ci.RunID)
		}
		return nil
	})
	unread := len(problems)
	problems = append(problems, r.WantShards()...)
	r.Code = cli.CodeInReport
	if f.plan != "" {
		problems = append(problems, r.Hold(plan, bundle.Names())...)
		if r.CI.RunID == "" {
			r.CI = ci
		}
	}
	if r.Written.IsZero() {
		r.Written = time.Now().UTC()
	}
	if err := CompareWithHistory(a.App, r, f.history); err != nil {
		return err
	}
	r.Rules = Rules()
	at, err := RepositoryAt(a.Getenv)
	if err != nil {
		return err
	}
	r.Checkout = at
	out := report.Files{Results: f.out, HTML: f.html, JUnit: f.junit, Markdown: f.summary, SARIF: f.sarif}
	if err := errors.Join(out.Write(r), a.ci.Write(r)); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.Usage), err)
	}
	if f.output == cli.AsJSON {
		if err := r.WriteCTRF(a.Stdout); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(a.Stderr, "%d of %d files merged into %s: %s\n", len(files)-unread, len(files), f.out, report.TotalsText(r.Results)); err != nil {
		return err
	}
	if len(problems) > 0 || f.plan == "" {
		return cli.WrapUsage(errors.Join(problems...))
	}
	return mergedError(ctx, r.Results)
}

// CompareWithHistory marks the report's cells, and adds them to the history. One that cannot be
// read is a warning: the verdicts do not depend on it.
func CompareWithHistory(a *cli.App, r *report.Report, file string) error {
	if file == "" {
		return nil
	}
	earlier, err := report.ReadPast(file)
	if err != nil {
		if _, err := fmt.Fprintf(a.Stderr, "warning: %s; a new history is started\n", err); err != nil {
			return err
		}
	}
	r.CompareWith(earlier)
	if err := report.WriteHistory(earlier, file); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.Usage), err)
	}
	return nil
}

// mergedError is the error that a run of all these cells would have returned. Cells that a
// cancelled job interrupted make it an interrupt, unless other cells failed.
func mergedError(ctx context.Context, results []result.Result) error {
	if len(results) == 0 {
		return reason.New(reason.NothingSelected, "the plan has no cell for this change: nothing was checked")
	}
	lost, red := false, false
	for i := range results {
		switch r := &results[i]; r.Status {
		case result.Infrastructure, result.Failed, result.Timeout:
			red = true
		case result.Interrupted, result.NotRun:
			lost = lost || r.Reason == reason.Interrupted
		}
	}
	if lost && !red {
		return &cli.Reported{Err: &cli.Interrupt{Signal: syscall.SIGTERM}}
	}
	return RunError(ctx, results, nil)
}

// resultsFiles are the results files that are named, or that are below the directories that are.
func resultsFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			files = append(files, arg) // Read says what is wrong with it
			continue
		}
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == report.FileName && d.Type().IsRegular() { // and no link to what is elsewhere
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for results in %s: %w", arg, err)
		}
	}
	return files, nil
}

// WritePlan writes the cells of a run to a file, for MergeCommand.
func WritePlan(file string, plan *discover.Plan) error {
	raw, err := json.Marshal(plan)
	if err != nil {
		return fmt.Errorf("write the plan as JSON: %w", err)
	}
	if err := report.ReplaceFile(file, append(raw, '\n')); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.Usage), fmt.Errorf("write the plan to %s: %w", file, err))
	}
	return nil
}

// readPlan gives the cells of a plan: those to run as not run, and those that were skipped.
func readPlan(file string) ([]result.Result, error) {
	raw, err := filesys.File(file, maxPlan)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	var plan discover.Plan
	if err := json.Unmarshal(raw, &plan); err != nil {
		return nil, fmt.Errorf("read the plan in %s: %w; write one with matrix discover --plan", file, err)
	}
	if plan.Entries == nil || plan.Skipped == nil {
		return nil, fmt.Errorf("read the plan in %s: it lacks entries or skipped; write one with matrix discover --plan", file)
	}
	var cells []result.Result
	for _, e := range plan.Entries {
		cells = append(cells, result.Result{Cell: e.Cell, Verdict: result.Verdict{Status: result.NotRun}})
	}
	for _, s := range plan.Skipped {
		for _, d := range s.Deployers {
			cells = append(cells, result.Result{Cell: result.Cell{Recipe: s.Recipe, Deployer: d}, Verdict: result.Verdict{Status: result.Skipped, Reason: reason.NoProfile, Cause: s.Reason}})
		}
	}
	for _, c := range cells {
		if c.Recipe == "" || c.Deployer == "" {
			return nil, fmt.Errorf("read the plan in %s: it has a cell without a recipe or a deployer", file)
		}
	}
	return cells, nil
}
