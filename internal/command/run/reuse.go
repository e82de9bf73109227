package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/reuse"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// reuser opens the store of a run's --reuse; nil without one.
func (a *app) reuser(dir, runID string) (*matrix.Reuser, error) {
	if dir == "" {
		return nil, nil
	}
	store, err := reuse.Open(dir)
	if err != nil {
		return nil, cli.Usagef("--reuse: %w", err)
	}
	u, err := a.inputsOf()
	if err != nil {
		return nil, fmt.Errorf("--reuse: %w", err)
	}
	u.Store, u.RunID, u.URL = store, runID, report.CIFromEnv(a.Getenv).URL
	return u, nil
}

// inputsOf knows the inputs of cells, and has no store.
func (a *app) inputsOf() (*matrix.Reuser, error) {
	settings, err := json.Marshal(a.Settings)
	if err != nil {
		return nil, fmt.Errorf("digest of the settings: %w", err)
	}
	harness, err := ownDigest()
	if err != nil {
		return nil, fmt.Errorf("digest of this program: %w", err)
	}
	return &matrix.Reuser{Harness: harness, Settings: reuse.Digest(settings)}, nil
}

// addKeys gives each result the digest of its inputs, by which reports tell a flaky cell from one
// that changed. A cell whose inputs cannot be known has none, and none have without reports.
func (a *app) addKeys(ctx context.Context, out *reporter, plans []matrix.Plan, results []result.Result) {
	if out.files.Results == "" {
		return
	}
	u, err := a.inputsOf()
	if err != nil {
		return
	}
	for i, p := range plans {
		if i >= len(results) || results[i].Cell != p.Cell || ctx.Err() != nil {
			return
		}
		if in, err := u.Inputs(ctx, out.runner, p); err == nil {
			results[i].Key = in.Key()
		}
	}
}

// ownDigest is the SHA-256 of this program's file, since two states of a working tree can have the
// same version.
func ownDigest() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filesys.SHA256(self)
}

// reuseVerdicts takes the cells out of a run that have passed already, and says on stderr what it
// found.
func (a *app) reuseVerdicts(ctx context.Context, u *matrix.Reuser, runner *matrix.Runner, plans []matrix.Plan) ([]matrix.Plan, []result.Result, error) {
	found, err := u.Find(ctx, runner, plans)
	if err != nil {
		return nil, nil, err
	}
	text := fmt.Sprintf("reuse: %d of %d cells passed already with the same inputs, and %d run\n", len(found.Reused), len(plans), len(found.Rest))
	text += reasonLines(found.Why)
	for _, p := range found.Problems {
		text += "warning: reuse: " + p + "; the cell runs\n"
	}
	_, err = io.WriteString(a.Stderr, text)
	return found.Rest, found.Reused, err
}

// reasonLines has a line for each reason, with the recipes that run for it.
func reasonLines(all []matrix.Unkept) string {
	recipes := map[string][]string{}
	var reasons []string
	for _, u := range all {
		if recipes[u.Why] == nil {
			reasons = append(reasons, u.Why)
		}
		recipes[u.Why] = append(recipes[u.Why], u.Recipe)
	}
	text := ""
	for i, why := range reasons {
		if i == mostChosen {
			return text + fmt.Sprintf("  and %d more reasons: see matrix why-run\n", len(reasons)-i)
		}
		text += "  " + strings.Join(lists.AtMost(recipes[why], 3), ", ") + ": " + why + "\n"
	}
	return text
}

// keepVerdicts stores what passed. What cannot be stored is a warning: the verdicts of this run
// stand.
func (a *app) keepVerdicts(ctx context.Context, u *matrix.Reuser, runner *matrix.Runner, plans []matrix.Plan, results []result.Result) {
	_, problems := u.Keep(context.WithoutCancel(ctx), runner, plans, results)
	for _, p := range problems {
		_, _ = fmt.Fprintf(a.Stderr, "warning: reuse: %s\n", p)
	}
}

// WhyRunCommand is `matrix why-run`.
func WhyRunCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	f := runFlags{pace: pace{maxStrikes: schedule.DefaultMax}, bundles: bundlerFlags{bundler: builtinBundler}}
	cmd := &cobra.Command{
		Use:   "why-run RECIPE/DEPLOYER",
		Short: "Tell whether --reuse would run a cell, and which of its inputs changed",
		Long: `Tell whether matrix run --reuse would run a cell or reuse its verdict, and which inputs have changed since it last
passed. Give the same flags as to matrix run: charts, recipes and profiles are inputs too.`,
		Example: `  matrix run eks-training --deployer helm --reuse .verdicts
  matrix why-run eks-training/helm --reuse .verdicts`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.plainSet, f.before.given = cmd.Flags().Changed(plainFlag), cmd.Flags().Changed("from")
			cli.Brief(a.Getenv)
			return a.whyRun(cmd.Context(), args[0], f)
		},
	}
	cli.ChartsFlag(cmd, &f.charts, "chart `source`, as for matrix run")
	cli.RecipesFlags(cmd, &f.recipes)
	cli.ProfilesFlag(cmd, &f.profiles)
	cmd.Flags().BoolVar(&f.checks, "checks", false, "the run has --checks")
	probesFlag(cmd, &f.probes)
	controllerFlag(cmd, &f.controllers)
	validateFlag(cmd, &f.validate)
	cmd.Flags().BoolVar(&f.plain, plainFlag, false, "the run has --"+plainFlag)
	cmd.Flags().StringVar(&f.reuse, "reuse", "", "`directory` of kept verdicts")
	cli.OutputFlag(cmd, &f.output)
	return cmd
}

// whyRunAnswer is matrix why-run -o json.
type whyRunAnswer struct {
	Cell string `json:"cell"`
	// Runs: the cell would run. Because says why, or of which run the verdict is.
	Runs    bool   `json:"runs"`
	Because string `json:"because"`
	Key     string `json:"key"`
	// Changed are the inputs that differ from those with which the cell last passed; absent if it
	// never has.
	Changed []string `json:"changed,omitempty"`
	// Inputs are all inputs with their digests.
	Inputs reuse.Inputs `json:"inputs"`
}

func (a *app) whyRun(ctx context.Context, cell string, f runFlags) error {
	name, lane, ok := strings.Cut(cell, "/")
	switch {
	case !ok || name == "" || lane == "":
		return cli.Usagef("cell %q: want RECIPE/DEPLOYER, e.g. eks-training/helm", cell)
	case f.reuse == "":
		return cli.Usagef("why-run needs --reuse DIR, the directory of kept verdicts")
	}
	f.deployers = []string{lane}
	this, err := a.prepareRun(ctx, []string{name}, f)
	if err != nil {
		return err
	}
	runner, plans := this.runner, this.plans
	u, err := a.reuser(f.reuse, runner.RunID)
	if err != nil {
		return err
	}
	in, err := u.Inputs(ctx, runner, plans[0])
	if err != nil {
		return reason.New(reason.Usage, "the verdict of %s is never reused: %w", cell, err)
	}
	found, err := u.Find(ctx, runner, plans)
	if err != nil {
		return err
	}
	answer := whyRunAnswer{Cell: cell, Runs: len(found.Rest) > 0, Key: in.Key(), Inputs: in}
	if answer.Runs {
		answer.Because = found.Why[0].Why
	} else {
		answer.Because = found.Reused[0].ReusedFrom[0]
	}
	if last := u.Store.Latest(plans[0].Cell); last != nil {
		answer.Changed = in.Changed(last.Inputs)
	}
	return a.printWhyRun(answer, found.Problems, f.output)
}

func (a *app) printWhyRun(answer whyRunAnswer, problems []string, format string) error {
	for _, p := range problems {
		if _, err := fmt.Fprintf(a.Stderr, "warning: reuse: %s\n", p); err != nil {
			return err
		}
	}
	if format == "json" {
		return cli.PrintJSON(a.Stdout, answer)
	}
	what := "is reused"
	if answer.Runs {
		what = "runs"
	}
	text := fmt.Sprintf("%s %s: %s\n", answer.Cell, what, answer.Because)
	for _, c := range answer.Changed {
		text += "  changed: " + c + "\n"
	}
	_, err := io.WriteString(a.Stdout, text)
	return err
}
