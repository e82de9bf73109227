//go:build nightly

package main

import "testing"

// A recipe passes on the lowest version that it allows, in a lane of each family.
func TestNightlyKubernetes(t *testing.T) {
	r := invoke(t, nil, "run", "eks-training", "--kubernetes", "floor", "--deployer", "helm,argocd-oci,flux-oci", "--charts", "simulated", "-o", "json")
	r.want(t, 0)
	wantText(t, "the results", r.stdout, "--kubernetes 1.34", `"kubernetes": "v1.34.4"`)
}
