package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/upgradecheck"
)

// upgradeChecker is a bundler that can say by itself what of its bundle a cluster has.
type upgradeChecker interface {
	UpgradeCheck(ctx context.Context, dir, deployer, recipe, kubeconfig string) (cluster, bundle string, err error)
}

// unanswered is the error of one that cannot: nothing is known then.
type unanswered interface {
	error
	Unanswered()
}

// upgradeCheckDeployer is the name that upgrade-check has for the cell's deployer; empty if it has none, or if what is
// delivered is of no recipe.
func (c *cellRun) upgradeCheckDeployer() string {
	name := c.plan.Deployer.Name()
	for _, end := range []string{"-oci", "-git", "-4"} {
		name = strings.TrimSuffix(name, end)
	}
	if !slices.Contains(recipe.UpgradeDeployers(), name) || c.plan.bundler != nil && c.upgradeChecker() == nil {
		return ""
	}
	return name
}

func (c *cellRun) upgradeChecker() upgradeChecker {
	u, _ := c.plan.bundler.(upgradeChecker)
	return u
}

// checkUpgrade asks upgrade-check what the cluster has installed, and what the bundle has, against the bundle's own recipe.
// Who wants to upgrade a cluster asks that first, and has nothing else to go by. Reason: READ_BACK_FAILED.
func (c *cellRun) checkUpgrade(ctx context.Context) error {
	in := c.env.Input
	wanted := upgradecheck.Components(in.Recipe)
	if in.ChartRepository != "" && !in.Direct { // a cell's charts are pulled from its own registry
		for i := range wanted {
			if wanted[i].Identity["chart"] != "" {
				wanted[i].Identity["source"] = in.ChartRepository
			}
		}
	}
	var delivered []string
	for _, r := range c.env.Bundle.Expectation.Releases {
		delivered = append(delivered, r.Component)
	}
	deployer, who := c.upgradeCheckDeployer(), "aicr upgrade-check"
	var cluster, bundle upgradecheck.Answer
	var err error
	if u := c.upgradeChecker(); u != nil {
		who = "AICR's CLI's upgrade-check"
		cluster, bundle, err = c.askUpgradeCheck(ctx, u, deployer)
	} else {
		cluster, err = c.ownUpgradeCheck(ctx, deployer, wanted)
	}
	if none := unanswered(nil); errors.As(err, &none) {
		c.result.NotVerified = append(c.result.NotVerified, "upgrade-check of the cluster: "+none.Error())
		return nil
	} else if err != nil {
		return err
	}
	if f := upgradecheck.Disagree(who, cluster, bundle, delivered); f != nil {
		return &reason.Error{Reason: reason.ReadBackFailed, Err: f}
	}
	return nil
}

// ownUpgradeCheck is what aicr upgrade-check says of the cluster. Of the bundle it would say nothing, since
// that has what its recipe has.
func (c *cellRun) ownUpgradeCheck(ctx context.Context, deployer string, wanted []recipe.UpgradeComponent) (upgradecheck.Answer, error) {
	var old []string
	if before := c.env.Before; before != nil { // an upgrade may leave behind what only the old recipe had
		for _, r := range before.Expectation.Releases {
			if !slices.Contains(old, r.Component) {
				old = append(old, r.Component)
			}
		}
	}
	there, source, err := upgradecheck.Installed(ctx, upgradecheck.Cluster{
		Kube:    func() (kubernetes.Interface, error) { return c.env.Clients.Kube, nil },
		Dynamic: func() (dynamic.Interface, error) { return c.env.Clients.Dynamic, nil },
	}, deployer, wanted, old)
	switch twice := (*upgradecheck.TwiceError)(nil); {
	case errors.As(err, &twice):
		return upgradecheck.Answer{}, reason.New(reason.ReadBackFailed, "aicr upgrade-check --from cluster: %w", err)
	case errors.Is(err, upgradecheck.ErrNone):
	case err != nil:
		return upgradecheck.Answer{}, reason.New(reason.ClusterFailed, "read what is installed: %w", err)
	}
	return upgradecheck.AnswerOf(recipe.CompareUpgrades(there, wanted, nil), &source), nil
}

// askUpgradeCheck has the bundler's own CLI answer. It compares the cluster with a copy of the recipe that names the registry
// from which the cell's charts were pulled.
func (c *cellRun) askUpgradeCheck(ctx context.Context, u upgradeChecker, deployer string) (cluster, bundle upgradecheck.Answer, err error) {
	dir := filepath.Join(c.dir, "bundler")
	file := filepath.Join(dir, "recipe.yaml")
	if in := c.env.Input; in.ChartRepository != "" && !in.Direct {
		if file, err = movedRecipe(file, in.ChartRepository); err != nil {
			return cluster, bundle, reason.New(reason.Internal, "%w", err)
		}
	}
	ofCluster, ofBundle, err := u.UpgradeCheck(ctx, dir, deployer, file, c.env.Cluster.Kubeconfig())
	if err != nil {
		if ctx.Err() != nil || errors.As(err, new(unanswered)) {
			return cluster, bundle, err
		}
		return cluster, bundle, reason.New(reason.ReadBackFailed, "%w", err)
	}
	for _, of := range []struct {
		from string
		text string
		to   *upgradecheck.Answer
	}{{"cluster", ofCluster, &cluster}, {"the bundle", ofBundle, &bundle}} {
		if *of.to, err = upgradecheck.ReadAnswer(of.text); err != nil {
			return cluster, bundle, reason.New(reason.ReadBackFailed, "AICR's CLI, upgrade-check --from %s: %w", of.from, err)
		}
	}
	return cluster, bundle, nil
}

// movedRecipe writes a copy of a resolved recipe beside it, whose charts are in this repository.
func movedRecipe(file, repository string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var whole map[string]any
	if err := yaml.Unmarshal(text, &whole); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	refs, _ := whole["componentRefs"].([]any)
	for _, r := range refs {
		if ref, ok := r.(map[string]any); ok && ref["chart"] != nil && ref["chart"] != "" {
			ref["source"] = repository
		}
	}
	if text, err = yaml.Marshal(whole); err != nil {
		return "", err
	}
	moved := strings.TrimSuffix(file, ".yaml") + "-in-the-cell.yaml"
	return moved, os.WriteFile(moved, text, 0o644)
}
