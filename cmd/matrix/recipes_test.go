package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The recipes in the form of AICR v1 have no finding that needs no cluster: here one with each of the forms that a recipe can
// have, and every night all of them. Each can be run: it has charts, and nodes for its service and accelerator.
func TestRecipes(t *testing.T) {
	const dir = "../../recipes"
	var listed struct {
		Recipes []struct {
			Name     string            `json:"name"`
			Criteria map[string]any    `json:"criteria"`
			Runnable bool              `json:"runnable"`
			Missing  []json.RawMessage `json:"missing"`
		} `json:"recipes"`
	}
	got := invoke(t, nil, "list", "recipes", "--recipes-dir", dir, "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &listed); err != nil || got.code != 0 {
		t.Fatalf("exit %d, %v\n%s", got.code, err, got.stderr)
	}
	runnable := 0
	for _, r := range listed.Recipes {
		if r.Runnable {
			runnable++
		} else if r.Criteria["service"] != nil {
			t.Errorf("%s cannot be run here: %s", r.Name, r.Missing)
		}
	}
	if runnable < 40 {
		t.Errorf("%d recipes can be run, want at least 40", runnable)
	}
	got = invoke(t, nil, "discover", "--recipes-dir", dir, "--tier", "1", "--deployer", "helm", "--format", "cells")
	cells := strings.Split(got.stdout, "\n")
	for _, want := range []string{"aks helm", "bcm helm", "cks helm", "eks-inference helm", "gke-cos helm", "metal3 helm", "nvke helm", "ocp helm", "togetherai helm"} {
		if !slices.Contains(cells, want) {
			t.Errorf("tier 1 has not %q: exit %d\n%s%s", want, got.code, got.stdout, got.stderr)
		}
	}
	some := []string{"h100-eks-ubuntu-training-slurm", "b200-gke-cos-inference-dynamo", "aks-training--operator-managed", "gb200-oke-ol-training-kueue", "h100-ocp-rhel-training"}
	code, out, stderr := checked(t, append(some, "--recipes-dir", dir, "--deployer", "helm")...)
	if code != 0 || !strings.Contains(out, "0 errors, 0 warnings") || stderr != "" {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
	for _, mixin := range []string{"npd", "nvsentinel-remediation"} {
		if code, out, stderr := checked(t, "eks-training", "--mixin", mixin, "--recipes-dir", dir, "--deployer", "helm"); code != 0 || !strings.Contains(out, "0 errors, 0 warnings") {
			t.Errorf("%s: exit %d\n%s%s", mixin, code, out, stderr)
		}
	}
	if got := invoke(t, nil, "check", "eks-training", "--mixin", "nvsentinel-observe,nvsentinel-quarantine", "--recipes-dir", dir); got.code != 2 || !strings.Contains(got.stderr, "which is also set at") {
		t.Errorf("two mixins that exclude one another: exit %d\n%s", got.code, got.stderr)
	}
}
