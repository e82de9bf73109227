package main

import "testing"

// A version that there is not is refused before anything is compiled, with those that there are.
func TestKubernetes(t *testing.T) {
	invoke(t, nil, "run", "eks-training", "--kubernetes", "1.12").want(t, 2, "there is no control plane of Kubernetes 1.12; choose one of 1.34, 1.35, 1.36, 1.37")
	invoke(t, nil, "run", "--app", "../../examples/apps/flux", "--kubernetes", "floor").want(t, 2, "--kubernetes floor needs recipes, whose constraints decide; a bundle has none")
	invoke(t, nil, "run", "eks-training", "--kubernetes", "1.34", "--platform", "kind").want(t, 2, "--kubernetes does not work with --platform kind: its nodes have the version of their image")
	invoke(t, nil, "run", "eks-training", "--kubernetes", "1.34", "--operators", "auto").want(t, 2, "--kubernetes 1.34 does not work with --operators auto")
	invoke(t, nil, "run", "eks-training", "--kubernetes", "newest", "--operators", "auto").want(t, 2, "--kubernetes 1.37 does not work with --operators auto")
	wantText(t, "matrix version", invoke(t, nil, "version").stdout, "matrix run --kubernetes: 1.34 (v1.34.")
}
