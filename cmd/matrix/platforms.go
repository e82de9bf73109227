package main

import (
	"context"
	"strings"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/kind"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// platform is a value of --platform.
type platform struct {
	name string
	// of says what its clusters are made of.
	of     string
	limits infra.Limits
	// forRun makes the platform of a run's cells, forWorkflows the cluster of a run of workflows.
	forRun       func(*app, runFlags, platformParts) (infra.Platform, error)
	forWorkflows func(*app, context.Context, context.CancelCauseFunc, workflowPlace, *workflow.Plan) (*workflowCluster, error)
	// status lists its clusters on this machine.
	status func(*app, context.Context) ([]statusRow, error)
}

// platforms are the values of --platform, the default first. This is the only place where a name
// stands for a platform: whatever else differs between them is asked of a platform's limits
// (archtest holds this).
func platforms() [2]platform {
	return [...]platform{
		{embedded.Name, "processes of this machine", embedded.Limits(), (*app).embeddedPlatform, (*app).ownWorkflowCluster, (*app).embeddedRows},
		{kind.Name, "containers in Docker", kind.Limits(), (*app).kindPlatformFor, (*app).kindWorkflowCluster, (*app).kindRows},
	}
}

// defaultPlatform is that of a command without --platform.
func defaultPlatform() platform { return platforms()[0] }

// platformNamed finds the platform with a name, which may be empty for the default.
func platformNamed(name string) (platform, error) {
	if name == "" {
		return defaultPlatform(), nil
	}
	for _, p := range platforms() {
		if p.name == name {
			return p, nil
		}
	}
	return platform{}, cli.Usagef("--platform %q: want %s", name, platformsWith(func(p platform) string { return p.name }))
}

// platformsWith lists a text for each platform: "this or that".
func platformsWith(text func(platform) string) string {
	var all []string
	for _, p := range platforms() {
		if t := text(p); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, " or ")
}

// clusterHelp is the end of the help of --platform.
func clusterHelp() string {
	return platformsWith(func(p platform) string { return p.name + " (" + p.of + ")" })
}

// wanted is a feature that a flag asks for. given: the user gave the flag, as text says.
type wanted struct {
	given   bool
	feature infra.Feature
	text    string
}

// refuse returns a usage error if the platform lacks one of these features. reused: all cells run in
// one cluster.
func (p platform) refuse(reused bool, all ...wanted) error {
	for _, w := range all {
		if !w.given {
			continue
		}
		if why, lacks := p.limits.LacksReused[w.feature]; lacks && reused {
			return cli.Usagef("%s does not work with --reuse-cluster: %s", w.text, why)
		}
		why, lacks := p.limits.Lacks[w.feature]
		switch {
		case !lacks:
		case p.name == defaultPlatform().name: // perhaps without --platform
			return cli.Usagef("%s needs --platform %s: %s", w.text, platformsWith(func(other platform) string {
				if _, lacks := other.limits.Lacks[w.feature]; lacks {
					return ""
				}
				return other.name
			}), why)
		default:
			return cli.Usagef("%s does not work with --platform %s: %s", w.text, p.name, why)
		}
	}
	return nil
}
