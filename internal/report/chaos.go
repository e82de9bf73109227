package report

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

// mostHurt is how many workloads that are not whole a report names for a step; the results file has
// all.
const mostHurt = 20

// ChaosLines are a chaos step in words: what was done and how many workloads survive, and a line
// for each of those that are not whole.
func ChaosLines(s *result.ChaosStep) []string {
	head := s.Name
	if s.Name != s.Action {
		head += " (" + s.Action + ")"
	}
	switch {
	case s.Status == result.StepNotRun:
		return []string{head + ": not run, since the run ended before it"}
	case s.Did == "":
		return []string{head + ": not done: " + s.Error}
	}
	head += ": " + s.Did
	if s.Error != "" {
		head += "; " + s.Error
	}
	var parts []string
	for _, state := range []result.SurvivorState{result.Degraded, result.Lost, result.Waiting} {
		if n := s.Count(state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	lines := []string{fmt.Sprintf("%s. Of %s: %s", head, lists.Count(s.Whole+len(s.Hurt), "workload"), strings.Join(append([]string{fmt.Sprintf("%d whole", s.Whole)}, parts...), ", "))}
	if s.Unsettled != "" {
		lines = append(lines, "not at rest: "+s.Unsettled)
	}
	for i := range s.Hurt {
		if i == mostHurt {
			lines = append(lines, fmt.Sprintf("and %d more", len(s.Hurt)-i))
			break
		}
		h := &s.Hurt[i]
		line := fmt.Sprintf("%s: %s, %d of %s", h.State, h.Workload, h.Ready, lists.Count(h.Want, "pod"))
		if h.Before {
			line += ", as before the first step"
		}
		if h.Why != "" {
			line += ": " + h.Why
		}
		lines = append(lines, line)
	}
	return lines
}

// terminalChaos has the steps of all cells.
func (r *Report) terminalChaos() []string {
	var all []string
	for i := range r.Results {
		c := &r.Results[i]
		if c.Chaos == nil {
			continue
		}
		all = append(all, fmt.Sprintf("chaos: %s, %s, seed %d (no part of the verdict)", c.Cell, c.Chaos.File, c.Chaos.Seed))
		for j := range c.Chaos.Steps {
			for k, line := range ChaosLines(&c.Chaos.Steps[j]) {
				all = append(all, "  "+strings.Repeat("  ", min(k, 1))+oneLine(line))
			}
		}
	}
	return all
}

// chaosMany counts the cells for each kind of damage.
func (r *Report) chaosMany() []string {
	cells, hurt := 0, 0
	for i := range r.Results {
		if r.Results[i].Chaos == nil {
			continue
		}
		cells++
		for j := range r.Results[i].Chaos.Steps {
			if s := &r.Results[i].Chaos.Steps[j]; s.Status != result.StepPassed || s.Count(result.Degraded)+s.Count(result.Lost) > 0 {
				hurt++
				break
			}
		}
	}
	if cells == 0 {
		return nil
	}
	return []string{fmt.Sprintf("chaos: %s; in %d of them a workload was degraded or lost, or a step was not done (each step: -o json, --html)", lists.Count(cells, "cell"), hurt)}
}

// mdChaos is what was broken on purpose, and what survived it.
func (r *Report) mdChaos() string {
	var b strings.Builder
	n := 0
	for i := range r.Results {
		c := &r.Results[i]
		if c.Chaos == nil {
			continue
		}
		n++
		fmt.Fprintf(&b, "%s: %s, seed %d\n\n", mdtext.Code(c.Cell.String()), mdtext.Code(c.Chaos.File), c.Chaos.Seed)
		for j := range c.Chaos.Steps {
			for k, line := range ChaosLines(&c.Chaos.Steps[j]) {
				b.WriteString(strings.Repeat("  ", min(k, 1)) + "- " + mdtext.Code(oneLine(line)) + "\n")
			}
		}
		b.WriteString("\n")
	}
	if n == 0 {
		return ""
	}
	return mdtext.Folded("Chaos in "+lists.Count(n, "cell")+", which is no part of the verdict", "", b.String())
}
