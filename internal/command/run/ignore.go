package run

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/checks"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

// ignoreFlags say what the user ignores, and which checks run.
type ignoreFlags struct {
	ignore, only []string
	file         string
	bench        *judge.Bench // once it is settled
}

func (f *ignoreFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.ignore, "ignore", nil, "ignore a check, as `ID[=KIND/NAMESPACE/NAME]`; one that makes cells fail for a named object only (repeatable; with reasons in "+judge.IgnoreFile+")")
	cmd.Flags().StringVar(&f.file, "ignore-file", "", "`file` with what is ignored (default: "+judge.IgnoreFile+" of the working directory, if there is one)")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "run these `checks` only, by ID or name")
}

// settle reads the flags and the file.
func (f *ignoreFlags) settle() error {
	all := checks.All()
	ignores, err := judge.NewIgnores(all, f.ignore, cli.FirstOf(f.file, judge.IgnoreFile), f.file != "")
	if err != nil {
		return cli.Usagef("%w", err)
	}
	f.bench = &judge.Bench{Checks: all, Ignore: ignores}
	if len(f.only) == 0 {
		return nil
	}
	f.bench.Checks = nil
	for _, id := range f.only {
		c := judge.ByID(all, id)
		if c == nil {
			return cli.Usagef("--only %s: %w", id, judge.Unknown(all, id))
		}
		f.bench.Checks, f.bench.Only = append(f.bench.Checks, *c), append(f.bench.Only, c.ID)
	}
	return nil
}

// rerun are the flags that check a cell again in the same way.
func (f *ignoreFlags) rerun() (parts []string) {
	for _, one := range f.ignore {
		parts = append(parts, "--ignore", one)
	}
	if f.file != "" {
		parts = append(parts, "--ignore-file", f.file)
	}
	if len(f.only) > 0 {
		parts = append(parts, "--only", strings.Join(f.only, ","))
	}
	return parts
}

// unused says what was ignored in vain, if the recipe that it is for was checked, and these stages were reached.
func unused(bench *judge.Bench, ran []string, stages ...judge.Stage) []string {
	return bench.Ignore.Unused(func(recipe string, stage judge.Stage) bool {
		return slices.Contains(stages, stage) && (recipe == "" || slices.Contains(ran, recipe))
	})
}

// stagesOf are the stages of a run's cells.
func stagesOf(r *matrix.Runner, results []result.Result) []judge.Stage {
	all := []judge.Stage{judge.Rendered, judge.Served, judge.Settled}
	if r.Drift || r.From != nil {
		all = append(all, judge.Second)
	}
	if slices.ContainsFunc(results, func(one result.Result) bool { return one.ComparedWith != "" }) {
		all = append(all, judge.Compared)
	}
	if r.Remove {
		all = append(all, judge.Removed)
	}
	return all
}
