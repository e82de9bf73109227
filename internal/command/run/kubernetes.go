package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

const (
	// stackFlag says where programs come from; cli has it for all commands.
	stackFlag = "stack"
	// floorVersion is the value of --kubernetes for the lowest version that each recipe allows, and
	// newestVersion for the highest that there is.
	floorVersion  = "floor"
	newestVersion = "newest"
)

// chooseVersions puts programs of the versions that flags name in the place of the stack's.
func (a *app) chooseVersions(ctx context.Context, f *runFlags, in runInputs) error {
	if a.StackSource != "" {
		f.platform.Origin = append(f.platform.Origin, "--"+stackFlag, a.StackSource)
	}
	if a.AllowUnpinned {
		f.platform.Origin = append(f.platform.Origin, "--allow-unpinned")
	}
	if a.VerifySignatures {
		f.platform.Origin = append(f.platform.Origin, "--"+cli.VerifySignaturesFlag)
	}
	if f.platform.ArgoCD != "" {
		chosen, err := a.Stack.WithArgoCD(f.platform.ArgoCD)
		if err != nil {
			return cli.Usagef("--%s: %w", platform.ArgoCDFlag, err)
		}
		a.Stack = chosen
	}
	if f.platform.Flux != "" {
		chosen, err := a.Stack.WithFlux(ctx, f.platform.Flux)
		if err != nil {
			return fmt.Errorf("--%s: %w", platform.FluxFlag, err)
		}
		a.Stack = chosen
	}
	return a.chooseKubernetes(f, in)
}

// chooseKubernetes puts the control plane that --kubernetes names in the place of the stack's, and
// the version into the flag. floor stays, since it is another one for each recipe.
func (a *app) chooseKubernetes(f *runFlags, in runInputs) error {
	switch f.platform.Kubernetes {
	case "":
		return nil
	case floorVersion:
		if in.Store == nil {
			return cli.Usagef("--%s %s needs recipes, whose constraints decide; a bundle has none", platform.KubernetesFlag, floorVersion)
		}
		return nil
	case newestVersion:
		minors, err := a.Stack.Minors(kwok.Kubernetes)
		if err != nil {
			return err
		}
		f.platform.Kubernetes = minors[len(minors)-1]
	}
	chosen, err := a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, f.platform.Kubernetes)
	if err != nil {
		return cli.Usagef("--%s: %w", platform.KubernetesFlag, err)
	}
	if err := f.platform.CanRunOn(a.Stack, chosen); err != nil {
		return err
	}
	a.Stack = chosen
	return nil
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
		return reason.New(reason.Internal, "--%s on the platform %s", platform.KubernetesFlag, runner.Platform.Kind())
	}
	var all []*embedded.Platform // the lowest first
	for _, minor := range minors {
		chosen, err := a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, minor)
		if err != nil {
			return err
		}
		if f.platform.CanRunOn(a.Stack, chosen) != nil {
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
