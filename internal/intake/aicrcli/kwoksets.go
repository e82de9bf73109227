package aicrcli

// kwoksets.go has the values that AICR's own KWOK tests pass to AICR's CLI. It knows resolved
// recipes. It must not know how the CLI is run.

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// KWOKSet is a value that the CLI is told to set for a component.
type KWOKSet struct{ Component, Value string }

// LeftOut are the components that these switch off.
func LeftOut(sets []KWOKSet) []string {
	var names []string
	for _, s := range sets {
		if strings.HasSuffix(s.Value, ":enabled=false") {
			names = append(names, s.Component)
		}
	}
	return names
}

// KWOKSets gives the values that AICR's own KWOK tests set since July, for the components that a
// resolved recipe deploys (its script validate-scheduling.sh): what simulated nodes cannot do. Text is
// what the file of that recipe has.
func KWOKSets(recipeFile string, text []byte) ([]KWOKSet, error) {
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
	var sets []KWOKSet
	for _, s := range []KWOKSet{
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
		if slices.Contains(r.DeploymentOrder, s.Component) {
			sets = append(sets, s)
		}
	}
	return sets, nil
}
