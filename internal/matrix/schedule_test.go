package matrix

import (
	"slices"
	"testing"
)

// Recipes keep the order in which they were asked for; the cells of one are started so that lanes of one kind do not run side by side.
func TestStartOrder(t *testing.T) {
	var plans []Plan
	for _, recipe := range []string{"z", "a"} {
		for _, row := range laneTable() {
			plans = append(plans, Plan{Cell: Cell{Recipe: recipe, Deployer: row.name}})
		}
	}
	var got []string
	for _, i := range startOrder(plans) {
		got = append(got, plans[i].Cell.String())
	}
	want := []string{
		"z/argocd-oci", "z/flux-oci", "z/argocd-helm-oci", "z/helm", "a/argocd-oci", "a/flux-oci", "a/argocd-helm-oci", "a/helm",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
