package aicrcli

import (
	"slices"
	"testing"
)

// Each value is for a component that the recipe deploys, and only since July.
func TestSets(t *testing.T) {
	const file = "recipe.yaml"
	for content, want := range map[string]int{
		"apiVersion: aicr.run/v1alpha2\ndeploymentOrder: [cert-manager, kube-prometheus-stack, gpu-operator]\n": 3,
		"apiVersion: aicr.nvidia.com/v1alpha1\ndeploymentOrder: [cert-manager]\n":                               0,
		"apiVersion: aicr.run/v1\ndeploymentOrder: [slinky-slurm, dynamo-platform]\n":                           3,
	} {
		sets, err := KWOKSets(file, []byte(content))
		if err != nil || len(sets) != want {
			t.Errorf("%s: got %v, %v; want %d", content, sets, err, want)
		}
	}
	sets, err := KWOKSets(file, []byte("apiVersion: aicr.run/v1\ndeploymentOrder: [cert-manager, nodewright-customizations]\n"))
	if got := LeftOut(sets); err != nil || !slices.Equal(got, []string{"nodewright-customizations"}) {
		t.Errorf("left out: %q, %v", got, err)
	}
}
