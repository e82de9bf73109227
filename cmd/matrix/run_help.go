package main

import "github.com/nvidia/aicr-action/internal/cli"

// runHelp are the flags of run that most people need, in the order in which a run uses them.
func runHelp() []cli.FlagGroup {
	return []cli.FlagGroup{
		{Title: "Select", Flags: []cli.FlagLine{
			{Name: "all", Does: "every recipe that sets a service"},
			{Name: "tier", Value: "auto|1,2,3", Does: "the cells that a change needs (matrix discover --help)"},
			{Name: "deployer", Value: "LIST", Does: "all, or some of them: helm,argocd-oci,flux-oci,… (default all)"},
			{Name: "recipes-dir", Value: "DIR", Does: "recipes (default: ./recipes, else those in the binary)"},
			{Name: "data", Value: "DIR", Does: "recipe files that are laid over the recipes"},
			{Name: "profiles", Value: "DIR", Does: "more kinds of nodes"},
		}},
		{Title: "Deliver", Flags: []cli.FlagLine{
			{Name: "charts", Value: "SOURCE", Does: "auto, simulated, upstream, direct, or a directory (default auto)"},
			{Name: "bundler", Value: "builtin|exec", Does: "who makes the bundles; exec is AICR's own CLI"},
			{Name: "bundle-dir", Value: "DIR", Does: "run this bundle, with --service and --deployer"},
			{Name: "app", Value: "PATH", Does: "run Applications, HelmReleases or a chart, without recipes"},
			{Name: "from", Value: "SOURCE", Does: "also upgrade each recipe from a Git ref, base or a directory"},
			{Name: platformFlag, Value: "NAME", Does: "where cells run: embedded or kind (default embedded)"},
		}},
		{Title: "After the pods are ready", Flags: []cli.FlagLine{
			{Name: "checks", Does: "run the components' health checks"},
			{Name: "probes", Does: "run the jobs that users of the recipe would run"},
			{Name: "validate", Does: "run the recipe's own validation phases"},
			{Name: "drift", Does: "deliver the same bundle again: nothing may change"},
			{Name: "rollback", Does: "with --from: go back, which must be as before"},
			{Name: "remove", Does: "undeploy at the end, and list what is left behind"},
			{Name: "chaos", Value: "FILE", Does: "break nodes and pods, and say what survives"},
			{Name: "keep", Does: "keep each cell's cluster"},
		}},
		{Title: "Pace", Flags: []cli.FlagLine{
			{Name: "parallel", Value: "N", Does: "cells at a time (default: one per core, at most 4)"},
			{Name: "fail-fast", Does: "start no further cell after a failed one"},
			{Name: "reuse", Value: "DIR", Does: "do not run again what passed with the same inputs"},
			{Name: watchFlag, Does: "run again after each save of a file that is used"},
		}},
		{Title: "Reports", Flags: []cli.FlagLine{
			{Name: "output", Value: "table|json", Does: "what is printed at the end (default table)"},
			{Name: "explain", Does: "print all remarks, also those that are the same in every run"},
			{Name: "artifacts", Value: "DIR", Does: "logs, bundles and what failed cells leave"},
			{Name: "report", Value: "DIR", Does: "all reports: kwok-results.json (CTRF), JUnit, HTML, Markdown"},
		}},
	}
}
