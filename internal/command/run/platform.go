package run

import (
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
)

// platformParts are what every platform is made of.
type platformParts struct {
	stages    []byte
	operators []simulate.OperatorStage
	port      int
	exact     bool // the user asked for this port
}

// platformOf is the platform that the flags name, for a run.
func (a *app) platformOf(f runFlags, parts platformParts) (infra.Platform, error) {
	return platform.For(f.platform.On, a.embeddedPlatform, a.kindPlatformFor)(f, parts)
}

// embeddedPlatform is the platform embedded, for a run.
func (a *app) embeddedPlatform(f runFlags, parts platformParts) (infra.Platform, error) {
	p := &embedded.Platform{
		Paths: a.Paths, Stack: a.Stack, Helmfile: a.Helmfile, Karpenter: a.Karpenter, Ports: a.Ports, Stages: parts.stages, Operators: parts.operators,
		Registry: embedded.RegistryPort{Port: parts.port, Exact: parts.exact}, Progress: a.Progress, PlainControllers: f.plain,
		Programs: f.platform.Table, JobControllers: f.jobs,
	}
	if f.platform.Mode != programs.Simulated {
		p.Real = &programs.Set{Mode: f.platform.Mode, Given: p.Programs, Stacks: a.Operators, Progress: a.Progress}
	}
	return p, nil
}

// kindPlatformFor is the platform kind, for a run.
func (a *app) kindPlatformFor(f runFlags, parts platformParts) (infra.Platform, error) {
	p, err := platform.Kind(a.App, f.platform.Images)
	if err != nil {
		return nil, err
	}
	p.Stages, p.Operators, p.Port, p.Exact = parts.stages, parts.operators, parts.port, parts.exact
	if p.GitPort, err = a.GitPort(); err != nil {
		return nil, err
	}
	if f.platform.Reuse {
		if p.Reuse, err = a.ClusterName(""); err != nil {
			return nil, err
		}
	}
	return p, nil
}
