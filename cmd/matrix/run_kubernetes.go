package main

import (
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

const (
	kubernetesFlag = "kubernetes"
	// floorVersion is the value of --kubernetes for the lowest version that each recipe allows, and
	// newestVersion for the highest that there is.
	floorVersion  = "floor"
	newestVersion = "newest"
)

// chooseKubernetes puts the control plane that --kubernetes names in the place of the stack's, and
// the version into the flag. floor stays, since it is another one for each recipe.
func (a *app) chooseKubernetes(f *runFlags, in runInputs) error {
	switch f.platform.kubernetes {
	case "":
		return nil
	case floorVersion:
		if in.Store == nil {
			return cli.Usagef("--%s %s needs recipes, whose constraints decide; a bundle has none", kubernetesFlag, floorVersion)
		}
		return nil
	case newestVersion:
		minors, err := a.Stack.Minors(kwok.Kubernetes)
		if err != nil {
			return err
		}
		f.platform.kubernetes = minors[len(minors)-1]
	}
	chosen, err := a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, f.platform.kubernetes)
	if err != nil {
		return cli.Usagef("--%s: %w", kubernetesFlag, err)
	}
	if err := f.platform.canRunOn(a.Stack, chosen); err != nil {
		return err
	}
	a.Stack = chosen
	return nil
}

// canRunOn rejects operators that run beside another control plane than the stack's.
func (f *platformFlags) canRunOn(own, chosen *stack.Stack) error {
	if chosen == own || f.mode == programs.Simulated {
		return nil
	}
	minor := strings.TrimPrefix(semver.MajorMinor(chosen.KubeVersion()), "v")
	return cli.Usagef("--%s %s does not work with --%s %s: only the stack's own API server can be told which webhooks it calls", kubernetesFlag, minor, operatorsFlag, f.mode)
}

// floors gives each recipe's cells the control plane of the lowest version that there is and that
// its constraint allows, and what it is upgraded from. A recipe that allows none of them keeps the
// stack's, where its constraint is reported.
func (a *app) floors(runner *matrix.Runner, f runFlags) error {
	minors, err := a.Stack.Minors(kwok.Kubernetes)
	if err != nil {
		return err
	}
	own, ok := runner.Platform.(*embedded.Platform)
	if !ok {
		return reason.New(reason.Internal, "--%s on the platform %s", kubernetesFlag, runner.Platform.Kind())
	}
	var all []*embedded.Platform // the lowest first
	for _, minor := range minors {
		chosen, err := a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, minor)
		if err != nil {
			return err
		}
		if f.platform.canRunOn(a.Stack, chosen) != nil {
			continue // the floor among those where these operators run
		}
		on := *own
		on.Stack = chosen
		all = append(all, &on)
	}
	var mu sync.Mutex // cells ask side by side
	found := map[string]infra.Platform{}
	runner.PlatformFor = func(name string) infra.Platform {
		mu.Lock()
		defer mu.Unlock()
		if p, ok := found[name]; ok {
			return p
		}
		i := slices.IndexFunc(all, func(p *embedded.Platform) bool { return allowsVersion(runner, name, p.KubeVersion()) })
		found[name] = nil
		if i >= 0 {
			found[name] = all[i]
		}
		return found[name]
	}
	return nil
}

// allowsVersion reports whether a recipe can run on a version of Kubernetes, and so can what it is
// upgraded from. One that cannot be read is reported where it is planned.
func allowsVersion(runner *matrix.Runner, name, version string) bool {
	res, err := runner.Store.ResolveName(name)
	if err != nil || res.CheckKubeVersion(version) != nil {
		return false
	}
	if runner.From == nil || runner.From.Store == nil {
		return true
	}
	old, err := runner.From.Store.ResolveName(name)
	return err != nil || old.CheckKubeVersion(version) == nil
}

// platforms are those of the run's cells, each once.
func (p *prepared) platforms() []infra.Platform {
	var all []infra.Platform
	for _, plan := range p.plans {
		if on := p.runner.PlatformOf(plan.Cell.Recipe); !slices.Contains(all, on) {
			all = append(all, on)
		}
	}
	return all
}

// minorFor is the minor version that a recipe's cells have.
func minorFor(runner *matrix.Runner, recipe string) string {
	return strings.TrimPrefix(semver.MajorMinor(runner.PlatformOf(recipe).KubeVersion()), "v")
}

// controlPlane is a version that --kubernetes chooses.
type controlPlane struct {
	Minor   string `json:"minor"`
	Version string `json:"version"`
	Built   bool   `json:"built"`
}

// controlPlanes lists them, the lowest first.
func (a *app) controlPlanes() ([]controlPlane, error) {
	minors, err := a.Stack.Minors(kwok.Kubernetes)
	if err != nil {
		return nil, err
	}
	var all []controlPlane
	for _, minor := range minors {
		s, err := a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, minor)
		if err != nil {
			return nil, err
		}
		all = append(all, controlPlane{minor, s.KubeVersion(), len(s.Missing(stack.GroupKubernetes)) == 0})
	}
	return all, nil
}
