package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// goalMarks are those of the table of goals.
var goalMarks = marks{"<!-- made by `make bench UPDATE=1` -->\n", "<!-- end of what `make bench` made -->\n"}

// goal is a row of the table: one command, and what it is to take on 2 idle cores.
type goal struct {
	name, want string
	args       []string // after matrix
	needs      string   // the input without which it is not measured; empty: none
}

// goalInputs are what some rows need besides this repository.
type goalInputs struct {
	charts  string // a directory of original charts
	recipes string // a directory of recipes, for the commands that only read them
	long    bool   // also what takes an hour
}

// ownSettings is the file of this repository's settings, from its root.
const ownSettings = ".settings.yaml"

// settingsName is that of the file for --settings, of which a command says no more.
const settingsName = "nodes.yaml"

// fourLanes are the lanes of the goals, which are older than the two that push to a Git server.
const fourLanes = "helm,argocd-oci,argocd-helm-oci,flux-oci"

// thousandNodes makes of this repository's settings, which a file for --settings has whole, those of
// 1,000 GPU nodes.
func thousandNodes(own []byte) ([]byte, error) {
	field := regexp.MustCompile(`(?m)^  accelerated: \d+$`)
	if n := len(field.FindAll(own, -1)); n != 1 {
		return nil, fmt.Errorf("the settings have nodes.accelerated %d times", n)
	}
	return field.ReplaceAll(own, []byte("  accelerated: 1000")), nil
}

// goals are the rows; settings is the path of a file with thousandNodes.
func goals(in goalInputs, settings string) []goal {
	lists := func(name string, args ...string) goal {
		g := goal{name: "`matrix " + name + "`, other recipes", want: "0.5 s", args: append(args, "--recipes-dir", in.recipes)}
		if in.recipes == "" {
			g.needs = "RECIPES=DIR"
		}
		return g
	}
	rows := []goal{
		{name: "`helm` alone", want: "10 s", args: []string{"run", "eks-training", "-d", "helm"}},
		{name: "four lanes", want: "40 s, 75 s of CPU time", args: []string{"run", "eks-training", "-d", fourLanes}},
		{name: "four lanes, original charts", want: "90 s", args: []string{"run", "eks-training", "-d", fourLanes, "--charts", in.charts, "--charts", "simulated"}},
		{name: "1,000 nodes with 17,000 pods", want: "150 s, 6 GiB", args: []string{"run", "eks-training", "-d", "helm", "--settings", settings, "--recipes-dir", "test/recipes-march"}},
		lists("list recipes", "list", "recipes"),
		lists("discover", "discover", "--tier", "3"),
		lists("why-run", "why-run", "eks-training/helm", "--reuse", filepath.Dir(settings)),
		{name: "every recipe with a service, four lanes", want: "25 min for 144 cells", args: []string{"run", "--all", "-d", fourLanes}},
	}
	if in.charts == "" {
		rows[2].needs = "CHARTS=DIR"
	}
	if !in.long {
		rows[len(rows)-1].needs = "LONG=1"
	}
	return rows
}

// benchGoals runs each row, one after the other, and gives the table, also with an error of some rows.
func benchGoals(ctx context.Context, dir string, in goalInputs, stderr io.Writer) (string, error) {
	bin, err := buildMatrix(ctx, dir, stderr)
	if err != nil {
		return "", err
	}
	settings := filepath.Join(dir, settingsName)
	own, err := os.ReadFile(ownSettings)
	if err != nil {
		return "", err
	}
	content, err := thousandNodes(own)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(settings, content, 0o600); err != nil {
		return "", err
	}
	return goalTable(ctx, in, settings, stderr, func(g goal) ([]string, error) { return g.measure(ctx, bin, dir, stderr) })
}

// goalTable measures each row. One that fails has no figure in the table, which then comes with an
// error: the other rows took minutes, and are right.
func goalTable(ctx context.Context, in goalInputs, settings string, stderr io.Writer, measure func(goal) ([]string, error)) (string, error) {
	var b strings.Builder
	var failed error
	b.WriteString("| work | goal | wall | CPU | memory, at most | command |\n|---|--:|--:|--:|--:|---|\n")
	for _, g := range goals(in, settings) {
		measured := []string{"not measured: give " + g.needs, "", ""}
		if g.needs == "" {
			_, _ = fmt.Fprintf(stderr, "==> %s, the goal is %s\n", g.name, g.want)
			var err error
			if measured, err = measure(g); err != nil {
				err = fmt.Errorf("%s: %w", g.name, err)
				if ctx.Err() != nil {
					return "", err
				}
				_, _ = fmt.Fprintf(stderr, "bench: %v\n", err)
				failed = errors.Join(failed, err)
				measured = []string{"no figure: the command failed", "", ""}
			}
		}
		command := g.command(in, settings)
		if !strings.Contains(command, "DIR") && !strings.Contains(command, settingsName) {
			command = "`" + command + "`" // can be run as it is
		}
		cells := append(append([]string{g.name, g.want}, measured...), command)
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String(), failed
}

// command is the row's as a person types it: without the paths of this machine.
func (g goal) command(in goalInputs, settings string) string {
	words := []string{"matrix"}
	for _, a := range g.args {
		switch a {
		case settings:
			a = settingsName
		case in.charts, in.recipes, filepath.Dir(settings):
			a = "DIR"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// measure gives the row's wall time, with the number of cells if there are many, its CPU time and
// its peak of memory.
func (g goal) measure(ctx context.Context, bin, dir string, stderr io.Writer) ([]string, error) {
	if g.args[0] != "run" {
		cmd := exec.CommandContext(ctx, bin, g.args...)
		cmd.Stderr = stderr
		begun := time.Now()
		if err := cmd.Run(); err != nil {
			return nil, err
		}
		wall := time.Since(begun)
		return []string{hundredths(wall), hundredths(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()), ""}, nil
	}
	f, err := timed(ctx, bin, filepath.Join(dir, "results"), g.args[1:], stderr)
	if err != nil {
		return nil, err
	}
	took := seconds(f.wall)
	if n := len(f.results); n > 8 {
		took += fmt.Sprintf(", %d cells", n)
	}
	memory := ""
	if f.peak > 0 {
		memory = fmt.Sprintf("%.1f GiB", float64(f.peak)/(1<<30))
	}
	return []string{took, seconds(f.cpu), memory}, nil
}

func hundredths(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
