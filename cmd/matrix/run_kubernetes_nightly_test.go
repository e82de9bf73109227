//go:build nightly

package main

import "testing"

// A recipe passes on the lowest version that it allows and on the newest that there is, in a lane of
// each family.
func TestNightlyKubernetes(t *testing.T) {
	for version, minor := range map[string]string{"floor": "1.34", "newest": "1.37"} {
		t.Run(version, func(t *testing.T) {
			r := invoke(t, nil, "run", "eks-training", "--kubernetes", version, "--deployer", "helm,argocd-oci,flux-oci", "--charts", "simulated", "-o", "json")
			r.want(t, 0)
			wantText(t, "the results", r.stdout, "--kubernetes "+minor, `"kubernetes": "v`+minor+`.`)
		})
	}
}
