package main

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/lists"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/reason"
)

func printResults(w io.Writer, results []matrix.Result, format string) error {
	if format == "json" {
		return cli.PrintJSON(w, map[string]any{"results": results})
	}
	_, err := io.WriteString(w, resultsTable(results))
	return err
}

// resultsTable is what a person reads: the grid, then totals, the slowest cells, and each failure's story.
func resultsTable(results []matrix.Result) string {
	var b strings.Builder
	b.WriteString(grid(results))
	if len(results) > 0 {
		fmt.Fprintf(&b, "\ncharts: %s   recipes: %s   cluster: %s\n", results[0].Charts, results[0].Recipes, results[0].Cluster)
	}
	for _, line := range append(common(results), compared(results)...) {
		b.WriteString(line + "\n")
	}
	b.WriteString(totals(results) + "\n")
	if slow := slowest(results); slow != "" {
		b.WriteString(slow + "\n")
	}
	for _, line := range unrun(results) {
		b.WriteString(line + "\n")
	}
	for _, r := range results {
		b.WriteString(story(r))
	}
	return b.String()
}

// unrun says why cells were not run, each cause once.
func unrun(results []matrix.Result) []string {
	var order []string
	cells := map[string][]string{}
	for _, r := range results {
		if r.Status != matrix.NotRun && r.Status != matrix.Skipped {
			continue
		}
		text := fmt.Sprintf("%s: %s: %s", r.Status, reasonText(r), r.Cause)
		if cells[text] == nil {
			order = append(order, text)
		}
		cells[text] = append(cells[text], r.Cell.String())
	}
	for i, text := range order {
		order[i] = text + "  [" + strings.Join(cells[text], ", ") + "]"
	}
	return order
}

func grid(results []matrix.Result) string {
	var recipes, deployers []string
	cell := map[string]matrix.Result{}
	add := func(list *[]string, s string) {
		for _, have := range *list {
			if have == s {
				return
			}
		}
		*list = append(*list, s)
	}
	for _, r := range results {
		add(&recipes, r.Recipe)
		add(&deployers, r.Deployer)
		cell[r.Cell.String()] = r
	}
	rows := [][]string{append([]string{"RECIPE"}, deployers...)}
	for _, recipe := range recipes {
		row := []string{recipe}
		for _, d := range deployers {
			r, ok := cell[recipe+"/"+d]
			if !ok {
				row = append(row, "-")
				continue
			}
			row = append(row, cellText(r))
		}
		rows = append(rows, row)
	}
	return cli.Table(rows)
}

// cellText works without colour: a mark, a word for what is not a pass, and the time.
func cellText(r matrix.Result) string {
	switch r.Status {
	case matrix.Passed:
		text := fmt.Sprintf("✓ %.1fs  %d pods", r.Duration.Seconds(), r.Pods)
		if r.Checks > 0 {
			text += fmt.Sprintf("  %d checks", r.Checks)
		}
		if len(r.Notes) > 0 {
			text += " *"
		}
		return text
	case matrix.NotRun, matrix.Skipped:
		return "– " + string(r.Status)
	}
	return "✗ " + reasonText(r)
}

// reasonText has the exit code too; an interrupt's depends on the signal, which the cause names.
func reasonText(r matrix.Result) string {
	if r.Reason == reason.Interrupted {
		return string(r.Reason)
	}
	return fmt.Sprintf("%s (%d)", r.Reason, r.Reason.Code())
}

// common are the remarks on all cells: what the harness put in, answered for, and noticed. Each is said once. Overrides and stand-ins
// are many, and the same from run to run: they are counted, with every one of them in -o json and in cell.json.
func common(results []matrix.Result) []string {
	var lines []string
	for _, kind := range []struct {
		head  string
		of    func(matrix.Result) []string
		brief bool
	}{
		{"overrides", func(r matrix.Result) []string { return r.Overrides }, true},
		{"stand-ins", func(r matrix.Result) []string { return r.StandIns }, true},
		{"out of order", func(r matrix.Result) []string { return r.OutOfOrder }, true},
		{"warning", func(r matrix.Result) []string { return r.Warnings }, false},
		{"note *", func(r matrix.Result) []string { return r.Notes }, false},
	} {
		var order []string
		cells := map[string][]string{}
		for _, r := range results {
			for _, text := range kind.of(r) {
				if cells[text] == nil {
					order = append(order, text)
				}
				cells[text] = append(cells[text], r.Deployer)
			}
		}
		if kind.brief {
			if len(order) > 0 {
				lines = append(lines, fmt.Sprintf("%s: %d, e.g. %s (all: -o json)", kind.head, len(order), order[0]))
			}
			continue
		}
		for _, text := range order {
			line := fmt.Sprintf("%s: %s", kind.head, text)
			if len(cells[text]) < len(results) {
				line += "  [" + strings.Join(lists.Unique(cells[text]), ", ") + "]"
			}
			lines = append(lines, line)
		}
	}
	if kinds := policyKinds(results); len(kinds) > 0 {
		lines = append(lines, "health policy: counted as healthy as soon as they exist: "+strings.Join(kinds, ", ")+" (objects and reasons: -o json)")
	}
	return lines
}

// policyKinds are the kinds for which the health policy answered; a use begins with its kind.
func policyKinds(results []matrix.Result) []string {
	var kinds []string
	for _, r := range results {
		for _, use := range r.HealthPolicy {
			kind, _, _ := strings.Cut(use, " ")
			kinds = append(kinds, kind)
		}
	}
	sort.Strings(kinds)
	return slices.Compact(kinds)
}

func totals(results []matrix.Result) string {
	count := map[matrix.Status]int{}
	for _, r := range results {
		count[r.Status]++
	}
	noun := "cells"
	if len(results) == 1 {
		noun = "cell"
	}
	text := fmt.Sprintf("%d %s: %d passed", len(results), noun, count[matrix.Passed])
	for _, s := range []matrix.Status{matrix.Failed, matrix.Timeout, matrix.Infrastructure, matrix.Interrupted, matrix.Skipped, matrix.NotRun} {
		if count[s] > 0 {
			text += fmt.Sprintf(", %d %s", count[s], s)
		}
	}
	return text
}

func slowest(results []matrix.Result) string {
	ran := make([]matrix.Result, 0, len(results))
	for _, r := range results {
		if r.Duration > 0 {
			ran = append(ran, r)
		}
	}
	if len(ran) < 2 {
		return ""
	}
	sort.SliceStable(ran, func(i, j int) bool { return ran[i].Duration > ran[j].Duration })
	var parts []string
	for _, r := range ran[:min(3, len(ran))] {
		longest := matrix.Phase{}
		for _, p := range r.Phases {
			if p.Duration > longest.Duration {
				longest = p
			}
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s %s)", r.Cell, seconds(r.Duration), longest.Name, seconds(longest.Duration)))
	}
	return "slowest: " + strings.Join(parts, ", ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// mostDetails bounds a story to the first screen; the rest is in the artifacts.
const mostDetails = 14

func story(r matrix.Result) string {
	var b strings.Builder
	if r.Status != matrix.Passed && r.Status != matrix.NotRun && r.Status != matrix.Skipped {
		at := ""
		if r.Stage != "" {
			at = ", at " + string(r.Stage)
		}
		fmt.Fprintf(&b, "\n✗ %s  %s%s: %s\n", r.Cell, reasonText(r), at, r.Cause)
		for i, d := range r.Details {
			if i == 0 && d == r.Cause {
				continue // said already
			}
			if i == mostDetails {
				fmt.Fprintf(&b, "    … and %d more lines", len(r.Details)-i)
				if r.Artifacts != "" {
					b.WriteString(" in summary.md")
				}
				b.WriteString("\n")
				break
			}
			b.WriteString("    " + strings.ReplaceAll(d, "\n", "\n      ") + "\n")
		}
		fmt.Fprintf(&b, "  rerun: %s\n", r.Rerun)
	}
	if r.Artifacts != "" {
		first := ""
		if r.Status != matrix.Passed {
			first = " (open summary.md first)"
		}
		fmt.Fprintf(&b, "  %s artifacts: %s%s\n", r.Cell, r.Artifacts, first)
		b.WriteString(replayHint(r.Artifacts))
	}
	if r.Kubeconfig != "" {
		fmt.Fprintf(&b, "  %s is kept: export KUBECONFIG=%s\n", r.Cell, r.Kubeconfig)
	}
	return b.String()
}
