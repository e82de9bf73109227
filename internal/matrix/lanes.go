package matrix

import (
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/lane/argocd"
	"github.com/nvidia/aicr-action/internal/matrix/lane/flux"
	"github.com/nvidia/aicr-action/internal/matrix/lane/helm"
	"github.com/nvidia/aicr-action/internal/matrix/lane/helmfile"
)

// laneRow is a row of the table of lanes.
type laneRow struct {
	Name string
	make func(bundle.Deployer) lane.Lane
	// start is the lane's place in the order in which a recipe's cells start. Argo CD's lanes are
	// bound by CPU, and Flux's waits for its controllers' intervals. One of each at a time uses the
	// machine best; two of Argo CD's slow each other down.
	start int
}

// laneTable returns the table of lanes: one row per deployer.
func laneTable() []laneRow {
	return []laneRow{
		{bundle.Helm, helm.New, 6},
		{"argocd-oci", argocd.New, 1},
		{"argocd-helm-oci", argocd.NewHelm, 3},
		{bundle.ArgoCDGit, argocd.New, 5},
		{"flux-oci", flux.New, 2},
		{bundle.FluxGit, flux.New, 4},
		{bundle.Helmfile, helmfile.New, 9},
		{bundle.HelmTemplate, helm.NewTemplate, 7},
		{bundle.ArgoCDAppSet, argocd.NewAppSet, 8},
		{bundle.Helm4, helm.New, 10},
	}
}

// NewLane returns the lane of a deployer. A test checks that every deployer of package bundle has a
// row.
func NewLane(d bundle.Deployer) lane.Lane {
	for _, row := range laneTable() {
		if row.Name == d.Name() {
			return row.make(d)
		}
	}
	return nil
}
