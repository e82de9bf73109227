package foreign

import (
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// setsOf gives the values that AICR's own KWOK tests set since July, for the components that a
// resolved recipe deploys (its script validate-scheduling.sh): what simulated nodes cannot do.
func setsOf(recipeFile string) ([]string, error) {
	text, err := os.ReadFile(recipeFile)
	if err != nil {
		return nil, err
	}
	var r struct {
		APIVersion      string   `json:"apiVersion"`
		DeploymentOrder []string `json:"deploymentOrder"`
	}
	if err := yaml.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("the recipe that AICR's CLI resolved, %s, is no YAML: %w", recipeFile, err)
	}
	if document.GenerationOf(r.APIVersion) == recipe.March {
		return nil, nil
	}
	var sets []string
	for _, s := range []struct{ component, set string }{
		{"cert-manager", "certmanager:startupapicheck.enabled=false"},
		{"kube-prometheus-stack", "kubeprometheusstack:defaultRules.create=false"},
		{"kube-prometheus-stack", "kubeprometheusstack:alertmanager.enabled=false"},
		{"nodewright-customizations", "nodewright-customizations:enabled=false"},
		{"slinky-slurm-operator", "slinkyslurmoperator:webhook.enabled=false"},
		{"slinky-slurm-operator", "slinkyslurmoperator:certManager.enabled=false"},
		{"slinky-slurm", "slurmcluster:controller.persistence.enabled=false"},
		{"dynamo-platform", "dynamoplatform:etcd.persistence.enabled=false"},
		{"dynamo-platform", "dynamoplatform:nats.config.jetstream.fileStore.enabled=false"},
	} {
		if slices.Contains(r.DeploymentOrder, s.component) {
			sets = append(sets, s.set)
		}
	}
	return sets, nil
}
