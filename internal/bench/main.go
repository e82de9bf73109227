// Command bench runs `matrix run` on this machine and prints what each cell took: wall time, and CPU time by part. It compares that with the table
// in docs/figures.md, and writes it there with -update. `make bench-matrix` calls it. With -gangs it runs the gang benchmark through several schedulers
// instead, as `make bench-gang` does. Nothing else should run meanwhile.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nvidia/aicr-action/internal/atomicfile"
	"github.com/nvidia/aicr-action/internal/report"
)

func main() {
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
	page := flags.String("page", "docs/figures.md", "page with the table to compare with; its directory is in the module")
	update := flags.Bool("update", false, "write the table to the page")
	gangs := flags.Bool("gangs", false, "run the gang benchmark instead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	old, err := os.ReadFile(*page)
	if err != nil {
		return fmt.Errorf("read the table to compare with: %w", err)
	}
	place := cellMarks
	if *gangs {
		place = gangMarks
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
	if *gangs {
		table, err = benchGangs(ctx, dir, stderr)
		difference = "the page has:\n" + kept
	} else {
		var measured *figures
		if measured, err = measure(ctx, dir, flags.Args(), stderr); err == nil {
			table = measured.table()
			difference = compare(kept, table)
		}
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "%s\n%s", table, difference); err != nil {
		return err
	}
	if !*update {
		return nil
	}
	return atomicfile.Write(*page, []byte(place.replace(string(old), table)), 0o644)
}

// buildMatrix builds matrix in a directory, and gives its path.
func buildMatrix(ctx context.Context, dir string, stderr io.Writer) (string, error) {
	bin := filepath.Join(dir, "matrix")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/matrix")
	build.Stderr = stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build matrix: %w", err)
	}
	return bin, nil
}

// measure builds matrix and runs it with these arguments after `run`.
func measure(ctx context.Context, dir string, args []string, stderr io.Writer) (*figures, error) {
	bin, err := buildMatrix(ctx, dir, stderr)
	if err != nil {
		return nil, err
	}
	stack := exec.CommandContext(ctx, bin, "stack", "build")
	stack.Stderr = stderr
	if err := stack.Run(); err != nil {
		return nil, fmt.Errorf("build the stack: %w", err)
	}
	cmd := exec.CommandContext(ctx, bin, append([]string{"run", "--results", dir}, args...)...)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it cleans up
	cmd.WaitDelay = time.Minute
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start matrix: %w", err)
	}
	watched, stop := context.WithCancel(ctx)
	peak := make(chan int64, 1)
	go func() { peak <- watchMemory(watched, cmd.Process.Pid) }()
	err = cmd.Wait()
	f := &figures{args: strings.Join(args, " "), wall: time.Since(begun), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	stop()
	f.peak = <-peak
	if err != nil {
		return nil, fmt.Errorf("matrix run %s: %w: the figures of a run that is not green say nothing", f.args, err)
	}
	results, err := report.Read(filepath.Join(dir, report.FileName))
	if err != nil {
		return nil, err
	}
	f.results = results.Results
	return f, nil
}
