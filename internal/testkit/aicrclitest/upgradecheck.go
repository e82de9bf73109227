package aicrclitest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/verify/upgradecheck"
)

// upgradeCheck answers as AICR's CLI does, with this program's own comparison and without records of upgrades. The
// cluster is that of the variable KUBECONFIG.
func (d double) upgradeCheck(f flags) error {
	to, err := componentsIn(f.one("--to"))
	if err != nil {
		return err
	}
	from, source := []recipe.UpgradeComponent(nil), (*upgradecheck.Source)(nil)
	if f.one("--from") == "cluster" {
		if from, source, err = inCluster(f.one("--deployer"), to); err != nil {
			return err
		}
	} else if from, err = componentsIn(f.one("--from")); err != nil {
		return err
	}
	if d.variant == Misread && source != nil {
		for i := range from {
			if from[i].Name == ForgottenComponent {
				from = append(from[:i], from[i+1:]...)
				break
			}
		}
	}
	answer := upgradecheck.AnswerOf(recipe.CompareUpgrades(from, to, nil), source)
	return json.NewEncoder(os.Stdout).Encode(answer)
}

// componentsIn are those of a recipe's file, or of a bundle's directory.
func componentsIn(path string) ([]recipe.UpgradeComponent, error) {
	if isDir(path) {
		path = filepath.Join(path, "recipe.yaml")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r recipe.Result
	if err := yaml.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	return upgradecheck.Components(&r), nil
}

func inCluster(deployer string, to []recipe.UpgradeComponent) ([]recipe.UpgradeComponent, *upgradecheck.Source, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, nil, err
	}
	there, source, err := upgradecheck.Installed(context.Background(), upgradecheck.Cluster{
		Kube:    func() (kubernetes.Interface, error) { return kubernetes.NewForConfig(config) },
		Dynamic: func() (dynamic.Interface, error) { return dynamic.NewForConfig(config) },
	}, deployer, to, nil)
	return there, &source, err
}
