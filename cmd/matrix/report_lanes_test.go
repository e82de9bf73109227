package main

import (
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/reason"
)

func TestCompared(t *testing.T) {
	result := func(recipe, deployer, with string, r reason.Reason) matrix.Result {
		res := matrix.Result{Cell: matrix.Cell{Recipe: recipe, Deployer: deployer}, Verdict: matrix.Verdict{Reason: r}, ComparedWith: with}
		if with != "" {
			res.ComparedObjects = 226
		}
		return res
	}
	got := compared([]matrix.Result{
		result("eks", "helm", "", ""), result("eks", "argocd-oci", "helm", ""), result("eks", "argocd-helm-oci", "helm", reason.LaneDivergence), result("eks", "flux-oci", "helm", ""),
		result("gke", "helm", "", ""),
	})
	if want := []string{"lanes: eks: the same 226 objects through argocd-oci, flux-oci as through helm"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
