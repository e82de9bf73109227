package reports

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// CIFiles is what `matrix run` leaves for the CI job that it is a step of, however it ends: the
// step's outputs, and annotations to print. They are written with the other reports and once more
// when the run's exit code is known, also if it never came to its first cell.
type CIFiles struct {
	Outputs, Annotations string   // files; empty for none
	Recipes              []string // the recipes directory and the data directory, in which errors name lines
	Getenv               func(string) string

	opened bool
	before []byte         // what earlier steps had written to the outputs
	last   *report.Report // nil as long as there are no cells
	err    error          // of the last write; the run's error has it
}

// NewCIFiles makes those of a process with this environment.
func NewCIFiles(getenv func(string) string) *CIFiles { return &CIFiles{Getenv: getenv} }

// Register adds the flags that name the files.
func (c *CIFiles) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.Outputs, "outputs", "", "`file` to which the outputs of a GitHub step are added, e.g. \"$GITHUB_OUTPUT\": conclusion, exit-code, exit-reason, totals, failed-cells")
	cmd.Flags().StringVar(&c.Annotations, "annotations", "", "`file` for GitHub annotations, one per root cause, at most 10; print it afterwards")
}

// Wanted reports whether a flag names a file.
func (c *CIFiles) Wanted() bool { return c.Outputs != "" || c.Annotations != "" }

// Write is for a run that goes on. Should it be killed before it can say why, then that is no
// success, and not known.
func (c *CIFiles) Write(r *report.Report) error {
	if !c.Wanted() {
		return nil
	}
	c.last = r
	c.err = c.flush(r, nil, report.Output{Name: "conclusion", Value: "failure"}, report.Output{Name: "exit-reason", Value: string(reason.Internal)})
	return c.err
}

// End writes the last state. It returns the run's error, joined with that of writing: a run does
// not pass without its outputs.
func (c *CIFiles) End(failed error) error {
	if !c.Wanted() {
		return failed
	}
	r := c.last
	if r == nil { // the run ended before there were cells
		r = &report.Report{Meta: report.Meta{Code: cli.CodeInReport}}
		if failed == nil { // --help among the arguments
			failed = cli.Usagef("no cell was run: nothing was checked")
		}
	}
	conclusion, name := "success", "OK"
	if failed != nil {
		conclusion, name = "failure", string(reason.Of(failed))
	}
	if reason.Of(failed) == reason.NothingSelected {
		conclusion = "neutral"
	}
	err := c.flush(r, failed, report.Output{Name: "conclusion", Value: conclusion},
		report.Output{Name: "exit-code", Value: strconv.Itoa(cli.CodeOf(failed))}, report.Output{Name: "exit-reason", Value: name})
	if failed != nil && c.err != nil { // it cannot be written, and that has been said
		return failed
	}
	return WithReports(failed, err)
}

// flush writes both files, each as a whole.
func (c *CIFiles) flush(r *report.Report, failed error, outputs ...report.Output) error {
	return errors.Join(c.writeOutputs(r, outputs), c.writeAnnotations(r, failed))
}

func (c *CIFiles) writeOutputs(r *report.Report, outputs []report.Output) error {
	if c.Outputs == "" {
		return nil
	}
	if !c.opened {
		before, err := os.ReadFile(c.Outputs)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("--outputs: %w", err)
		}
		if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
			before = append(before, '\n')
		}
		c.before, c.opened = before, true
	}
	counts, err := r.Outputs()
	if err != nil {
		return err
	}
	b := bytes.NewBuffer(bytes.Clone(c.before))
	if err := report.WriteOutputs(b, append(outputs, counts...)); err != nil {
		return err
	}
	if err := report.ReplaceFile(c.Outputs, b.Bytes()); err != nil {
		return fmt.Errorf("write the outputs to %s: %w", c.Outputs, err)
	}
	return nil
}

// writeAnnotations writes at least one annotation for a failed run. If no cell's failure explains
// the run's error, the error itself is one.
func (c *CIFiles) writeAnnotations(r *report.Report, failed error) error {
	if c.Annotations == "" {
		return nil
	}
	at, err := checkout(c.Getenv)
	if err != nil {
		return err
	}
	all := r.Annotations(at)
	if len(all) == 0 && failed != nil {
		name := reason.Of(failed)
		a := report.ErrorAnnotation(fmt.Sprintf("%s (%d)", name, cli.CodeOf(failed)), failed, c.Recipes, at)
		a.Warning = name == reason.NothingSelected
		all = append(all, a)
	}
	var b bytes.Buffer
	if err := report.WriteAnnotations(&b, all); err != nil {
		return err
	}
	if err := report.ReplaceFile(c.Annotations, b.Bytes()); err != nil {
		return fmt.Errorf("write the annotations to %s: %w", c.Annotations, err)
	}
	return nil
}

// checkout is where the repository is whose files annotations name. Links are resolved, since the
// working directory may be known by another name than GITHUB_WORKSPACE.
func checkout(getenv func(string) string) (report.Checkout, error) {
	dir, err := os.Getwd()
	if err != nil {
		return report.Checkout{}, fmt.Errorf("find the working directory, to which names in results belong: %w", err)
	}
	at := report.Checkout{Root: getenv("GITHUB_WORKSPACE"), Dir: dir}
	for _, path := range []*string{&at.Root, &at.Dir} {
		if real, err := filepath.EvalSymlinks(*path); err == nil && *path != "" {
			*path = real
		}
	}
	return at, nil
}

// RepositoryAt is checkout and, outside of GitHub, the repository that has the working directory, or else that itself.
func RepositoryAt(getenv func(string) string) (report.Checkout, error) {
	at, err := checkout(getenv)
	if err == nil && at.Root == "" {
		at.Root = cli.FirstOf(filesys.GitTop(at.Dir), at.Dir)
	}
	return at, err
}

// WithReports joins the error of a run with that of writing its reports. It never hides why the run
// failed, and a run does not pass without its reports.
func WithReports(failed, err error) error {
	switch {
	case err == nil:
		return failed
	case failed == nil:
		return reason.Wrap(infra.DiskReason(err, reason.Internal), err)
	}
	return &unreported{failed: failed, err: err}
}

// unreported is a failed run whose reports could not be written either. It is the run's error in
// all but its text.
type unreported struct{ failed, err error }

func (u *unreported) Error() string { return fmt.Sprintf("%s; also: %s", u.failed, u.err) }

func (u *unreported) Unwrap() error {
	var quiet *cli.Reported
	if errors.As(u.failed, &quiet) { // its text is out; the report's is not
		return quiet.Err
	}
	return u.failed
}
