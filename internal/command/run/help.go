package run

import (
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
)

// runHelp are the flags of run that most people need, in the order in which a run uses them.
func runHelp() []cli.FlagGroup {
	return []cli.FlagGroup{
		{Title: "Select", Flags: []cli.FlagLine{
			{Name: "all", Does: "every recipe that sets a service"},
			{Name: "tier", Value: "auto|1,2,3", Does: "the cells that a change needs (matrix discover --help)"},
			{Name: "deployer", Value: "LIST", Does: "all, or some of them: helm,argocd-oci,flux-oci,… (default all)"},
			{Name: "recipes-dir", Value: "DIR", Does: "recipes (default: ./recipes, else those in the binary)"},
			{Name: "profiles", Value: "DIR", Does: "more kinds of nodes"},
		}},
		{Title: "Deliver", Flags: []cli.FlagLine{
			{Name: "charts", Value: "SOURCE", Does: "auto, simulated, upstream, direct, or a directory (default auto)"},
			{Name: "app", Value: "PATH", Does: "run Applications, HelmReleases, a chart or manifests, without recipes"},
			{Name: "from", Value: "SOURCE", Does: "also upgrade each recipe from a Git ref, base or a directory"},
			{Name: platform.PlatformFlag, Value: "NAME", Does: "where cells run: embedded or kind (default embedded)"},
		}},
		{Title: "After the pods are ready", Flags: []cli.FlagLine{
			{Name: "checks", Does: "run the components' health checks"},
			{Name: "probes", Does: "run the jobs that users of the recipe would run"},
			{Name: "drift", Does: "deliver the same bundle again: nothing may change"},
			{Name: "remove", Does: "undeploy at the end, and list what is left behind"},
			{Name: "keep", Does: "keep each cell's cluster"},
		}},
		{Title: "Pace", Flags: []cli.FlagLine{
			{Name: "parallel", Value: "N", Does: "cells at a time (default: one per core, at most 4)"},
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
