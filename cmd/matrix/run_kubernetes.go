package main

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/kwok"
)

const (
	kubernetesFlag = "kubernetes"
	// floorVersion is the value of --kubernetes for the lowest version that the recipes allow.
	floorVersion = "floor"
)

// chooseKubernetes puts the control plane that --kubernetes names in the place of the stack's, and
// the version into the flag.
func (a *app) chooseKubernetes(args []string, f *runFlags, in runInputs) error {
	if f.platform.kubernetes == "" {
		return nil
	}
	if f.platform.kubernetes == floorVersion {
		if in.Store == nil || f.all || f.tiers != nil {
			return cli.Usagef("--%s %s needs the names of recipes, whose constraints decide", kubernetesFlag, floorVersion)
		}
		var err error
		if f.platform.kubernetes, err = a.floor(args, in.Store); err != nil {
			return err
		}
	}
	chosen, err := a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, f.platform.kubernetes)
	if err != nil {
		return cli.Usagef("--%s: %w", kubernetesFlag, err)
	}
	if chosen != a.Stack && f.platform.mode != programs.Simulated {
		return cli.Usagef("--%s %s does not work with --%s %s: only the stack's own API server can be told which webhooks it calls", kubernetesFlag, f.platform.kubernetes, operatorsFlag, f.platform.mode)
	}
	a.Stack = chosen
	return nil
}

// floor is the lowest version that there is and that the constraints of all these recipes allow.
func (a *app) floor(recipes []string, store *recipe.Store) (string, error) {
	minors, err := a.Stack.Minors(kwok.Kubernetes)
	if err != nil {
		return "", err
	}
	var broken error
	i := slices.IndexFunc(minors, func(minor string) bool {
		other, err := a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, minor)
		for _, name := range cli.SplitList(recipes) {
			var res *recipe.Result
			if err == nil {
				res, err = store.ResolveName(name)
			}
			if err == nil {
				err = res.CheckKubeVersion(other.KubeVersion())
			}
		}
		broken = err
		return err == nil
	})
	if i < 0 {
		return "", cli.Usagef("--%s %s: none of %s satisfies the recipes: %w", kubernetesFlag, floorVersion, strings.Join(minors, ", "), broken)
	}
	return minors[i], nil
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
