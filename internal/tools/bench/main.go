// Command bench runs `matrix run` on this machine and prints what each cell took: wall time, and
// CPU time by part. It compares that with the table in docs/contributing/figures.md, and writes it there with
// -update. `make bench-matrix` calls it. With -gangs it runs the gang benchmark through several
// schedulers instead, as `make bench-gang` does; with -profile it says what the processes of each
// lane spend their CPU time on, as `make bench-profile` does; with -goals it measures each command that
// has a goal, as `make bench` does; with -ratio what a cell costs beside the same bundle delivered by hand, as
// `make bench-ratio` does; with -verdicts how soon after a fault its verdict comes, as
// `make bench-verdicts` does. The machine should be idle otherwise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/reexec"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
)

func main() {
	if code, ok := reexec.Dispatch(slices.Concat(sandbox.Hidden(), render.Hidden(), texttemplate.Hidden())...); ok {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	page := flags.String("page", "docs/contributing/figures.md", "page with the table to compare with; its directory is in the module")
	update := flags.Bool("update", false, "write the table to the page")
	gangs := flags.Bool("gangs", false, "run the gang benchmark instead")
	profiles := flags.Bool("profile", false, "say instead what the CPU time is spent on, lane by lane")
	lanes := flags.String("lanes", "helm,argocd-oci,argocd-helm-oci,flux-oci", "the lanes for -profile and -ratio, one after the other")
	ratios := flags.Bool("ratio", false, "compare instead a recipe's cells with the same bundles delivered by hand")
	verdicts := flags.Bool("verdicts", false, "measure instead how soon the fault-injection suite's verdicts come; an argument is a pattern for its cells, as of go test -run")
	nightly := flags.Bool("nightly", false, "with -verdicts, also the cells of make test-nightly")
	goals := flags.Bool("goals", false, "measure instead each command that has a goal")
	var inputs goalInputs
	flags.StringVar(&inputs.charts, "charts", "", "directory of original charts, for the row of -goals that needs them")
	flags.StringVar(&inputs.recipes, "recipes", "", "directory of recipes, for the rows of -goals that only read them")
	flags.BoolVar(&inputs.long, "long", false, "with -goals, also every recipe: an hour or more")
	if err := flags.Parse(args); err != nil {
		return err
	}
	old, err := os.ReadFile(*page)
	if err != nil {
		return fmt.Errorf("read the table to compare with: %w", err)
	}
	place := cellMarks
	switch {
	case *gangs:
		place = gangMarks
	case *goals:
		place = goalMarks
	case *verdicts:
		place = verdictMarks
	case *profiles:
		place = profileMarks
	case *ratios:
		place = ratioMarks
	}
	kept, err := place.find(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", *page, err)
	}
	dir, err := os.MkdirTemp("", "aicr-action-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var table, difference string
	switch {
	case *gangs:
		table, err = benchGangs(ctx, dir, stderr)
		difference = "the page has:\n" + kept
	case *goals:
		table, err = benchGoals(ctx, dir, inputs, stderr)
		difference = "the page has:\n" + kept
	case *verdicts:
		table, err = benchVerdicts(ctx, dir, strings.Join(flags.Args(), "|"), *nightly, stderr)
		difference = "the page has:\n" + kept
	case *profiles:
		table, err = benchProfile(ctx, dir, strings.Split(*lanes, ","), flags.Args(), stderr)
		difference = "the page has:\n" + kept
	case *ratios:
		table, err = benchRatio(ctx, dir, strings.Split(*lanes, ","), flags.Args(), kept, stderr)
		difference = "the page has:\n" + kept
	default:
		var measured *figures
		if measured, err = measure(ctx, dir, flags.Args(), stderr); err == nil {
			table = measured.table()
			difference = compare(kept, table)
		}
	}
	if table == "" {
		return err
	}
	if _, failed := fmt.Fprintf(stdout, "%s\n%s", table, difference); failed != nil {
		return failed
	}
	if *update {
		err = errors.Join(err, filesys.WriteFile(*page, []byte(place.replace(string(old), table)), 0o644))
	}
	return err
}

// buildMatrix builds matrix in a directory, and the stack, and gives the path of matrix.
func buildMatrix(ctx context.Context, dir string, stderr io.Writer) (string, error) {
	bin := filepath.Join(dir, "matrix")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/matrix")
	build.Stderr = stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build matrix: %w", err)
	}
	stack := exec.CommandContext(ctx, bin, "stack", "build")
	stack.Stderr = stderr
	if err := stack.Run(); err != nil {
		return "", fmt.Errorf("build the stack: %w", err)
	}
	return bin, nil
}

// measure builds matrix and runs it with these arguments after `run`.
func measure(ctx context.Context, dir string, args []string, stderr io.Writer) (*figures, error) {
	bin, err := buildMatrix(ctx, dir, stderr)
	if err != nil {
		return nil, err
	}
	return timed(ctx, bin, dir, args, stderr)
}

// timed runs it with these arguments after `run`, and keeps its results file in a directory.
func timed(ctx context.Context, bin, dir string, args []string, stderr io.Writer) (*figures, error) {
	f := &figures{args: strings.Join(args, " ")}
	begun := time.Now()
	ended, err := runMatrix(ctx, bin, append([]string{"--results", dir}, args...), stderr, func(ctx context.Context, pid int) { f.peak = watchMemory(ctx, pid) })
	if err != nil {
		return nil, err
	}
	f.wall, f.cpu = time.Since(begun), ended.UserTime()+ended.SystemTime()
	results, err := report.Read(filepath.Join(dir, report.FileName))
	if err != nil {
		return nil, err
	}
	f.results = results.Results
	return f, nil
}

// runMatrix runs it with these arguments after `run`. Meanwhile it calls watch, whose context ends
// with the run.
func runMatrix(ctx context.Context, bin string, args []string, stderr io.Writer, watch func(ctx context.Context, pid int)) (*os.ProcessState, error) {
	cmd := exec.CommandContext(ctx, bin, append([]string{"run"}, args...)...)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it cleans up
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start matrix: %w", err)
	}
	watched, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { watch(watched, cmd.Process.Pid) })
	err := cmd.Wait()
	stop()
	wg.Wait()
	if err != nil {
		return nil, fmt.Errorf("matrix run %s: %w: the figures of a run that is not green say nothing", strings.Join(args, " "), err)
	}
	return cmd.ProcessState, nil
}
