//go:build nightly

package main

import (
	"strings"
	"testing"
)

// No recipe in the form of AICR v1 has a finding that needs no cluster, whatever delivers it.
func TestNightlyRecipes(t *testing.T) {
	code, out, stderr := checked(t, "--all", "--recipes-dir", "../../recipes", "--deployer", "helm,argocd-oci,flux-oci")
	if code != 0 || !strings.Contains(out, "0 errors, 0 warnings") || stderr != "" {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
}
