package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// gangMarks are those of the table of gangs.
var gangMarks = marks{"<!-- made by `make bench-gang UPDATE=1` -->\n", "<!-- end of what `make bench-gang` made -->\n"}

// gangFiles is where the workflows of the gang benchmark are.
const gangFiles = "workflows/gangs"

// half is how long some pods of a gang may have a node while others have none, until it counts as
// placed in part: binding takes a moment.
const half = 5 * time.Second

// gangSchedulers are the schedulers that are compared, as people call them: each has a file in
// gangFiles.
func gangSchedulers() []string { return []string{"default", "coscheduling", "kueue"} }

// gangFigures is what one scheduler made of the benchmark.
type gangFigures struct {
	scheduler string
	placement *placement.Result
	took      time.Duration // from the first submission to the end of the last pod
	broken    string        // what was expected of the gangs and did not hold; empty if it did
}

// benchGangs runs the gang benchmark through each scheduler, one after the other, and gives the
// table.
func benchGangs(ctx context.Context, dir string, stderr io.Writer) (string, error) {
	bin, err := buildMatrix(ctx, dir, stderr)
	if err != nil {
		return "", err
	}
	var all []gangFigures
	for _, scheduler := range gangSchedulers() {
		f, err := benchGang(ctx, bin, scheduler, stderr)
		if err != nil {
			return "", fmt.Errorf("the gang benchmark with scheduler %s: %w", scheduler, err)
		}
		all = append(all, f)
	}
	return gangTable(all), nil
}

func benchGang(ctx context.Context, bin, scheduler string, stderr io.Writer) (gangFigures, error) {
	args := []string{"workflow", "run", "-o", "json", "--wait-pods", "15m"}
	for _, name := range []string{"nodes", scheduler, "burst"} {
		args = append(args, filepath.Join(gangFiles, name+".yaml"))
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Stdout, cmd.Stderr = &out, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it cleans up
	cmd.WaitDelay = time.Minute
	f, err := gangFiguresOf(scheduler, cmd.Run(), out.Bytes())
	if err != nil {
		return gangFigures{}, fmt.Errorf("matrix %s: %w", strings.Join(args, " "), err)
	}
	return f, nil
}

// gangFiguresOf takes the figures from a run's error and result. A run that failed only because of
// torn gangs counts like any other. Pods that still run are an error, since the figures would be
// those of another workload.
func gangFiguresOf(scheduler string, ended error, raw []byte) (gangFigures, error) {
	var r workflow.Result
	if err := json.Unmarshal(raw, &r); err != nil {
		return gangFigures{}, errors.Join(ended, err)
	}
	broken := tornGangs(&r)
	if ended != nil && broken == "" {
		return gangFigures{}, ended
	}
	for _, n := range r.Notes {
		if strings.Contains(n, "have not ended") {
			return gangFigures{}, fmt.Errorf("pods are left: %s", n)
		}
	}
	i := slices.IndexFunc(r.Workflows, func(w workflow.WorkflowResult) bool { return w.Placement != nil && w.Placement.Gangs.Jobs > 0 })
	if i < 0 {
		return gangFigures{}, fmt.Errorf("no workflow has submitted jobs of several pods")
	}
	p := r.Workflows[i].Placement
	f := gangFigures{scheduler: scheduler, placement: p, broken: broken}
	for _, s := range p.Occupancy {
		if s.Taken > 0 {
			f.took = time.Duration(s.At) * time.Millisecond
		}
	}
	return f, nil
}

// tornGangs is a failed run's message about its gangs, or empty if anything else failed too.
func tornGangs(r *workflow.Result) string {
	var said []string
	for _, w := range r.Workflows {
		for _, t := range w.Tasks {
			switch {
			case t.Error == "":
			case t.ID == workflow.GangCheck:
				said = append(said, t.Error)
			default:
				return ""
			}
		}
	}
	return strings.Join(said, "; ")
}

// gangTable is the figures in Markdown, a row for each scheduler.
func gangTable(all []gangFigures) string {
	var b strings.Builder
	b.WriteString("| scheduler | gangs placed whole | in part, for over 5 s | not placed | longest in part | GPUs taken, mean | free and useless, at most | pod to node: median, longest | all pods have ended |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, f := range all {
		whole, part, none := 0, 0, 0
		for _, j := range f.placement.Jobs {
			switch {
			case j.Wanted < 2:
			case j.Placed == 0:
				none++
			case j.Placed < j.Wanted || time.Duration(j.HalfPlaced)*time.Millisecond > half:
				part++
			default:
				whole++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %.0f %% | %d | %s, %s | %s |\n", f.scheduler, whole, part, none, inSeconds(f.placement.Gangs.LongestHalf), f.placement.MeanOccupancy,
			f.placement.Fragmentation, inSeconds(f.placement.TimeToSchedule.Median), inSeconds(f.placement.TimeToSchedule.Max), seconds(f.took))
	}
	for _, f := range all {
		if f.broken != "" {
			fmt.Fprintf(&b, "\nThe run with %s was red: %s.\n", f.scheduler, f.broken)
		}
	}
	return b.String()
}

func inSeconds(ms int64) string { return seconds(time.Duration(ms) * time.Millisecond) }
