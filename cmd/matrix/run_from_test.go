package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// What an upgrade cannot start from is refused before anything is started.
func TestFromInput(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"no directory":       {[]string{"--from", "./no-such"}, []string{"--from ./no-such: there is no such directory"}},
		"nothing in it":      {[]string{"--from", t.TempDir()}, []string{"has no recipes"}},
		"helmfile":           {[]string{"--from", ".", "--deployer", "helmfile"}, []string{"--from does not work with helmfile", "helm-diff"}},
		"argocd-appset":      {[]string{"--from", ".", "--deployer", "helm,argocd-appset"}, []string{"--from does not work with argocd-appset"}},
		"charts direct":      {[]string{"--from", ".", "--charts", "direct"}, []string{"--from does not work with --charts direct", "upstream"}},
		"a recipe not there": {[]string{"--from", "testdata/from"}, []string{"--from testdata/from"}},
	} {
		t.Run(name, func(t *testing.T) {
			invoke(t, nil, append([]string{"run", "eks"}, tc.args...)...).want(t, 2, append([]string{"matrix: "}, tc.want...)...)
		})
	}
}

// A run upgrades from base what matrix discover plans: the recipes whose resolved bundle changed. The
// others, and those that are new, are named.
func TestFromBase(t *testing.T) {
	recipes := pullRequest(t)
	args := []string{"--recipes-dir", recipes, "--tier", "3", "--deployer", "helm", "--base", "main", "--from", "base"}
	const first = "eks/helm eks-training/helm h100-eks-training/helm"
	r, results := runTier(t, args...)
	if got := cellsOf(results); got != first {
		t.Errorf("nothing changed: got %s\n%s", got, r.stderr)
	}
	wantText(t, "stderr", r.stderr, "note: no upgrade from base of eks, eks-training: the resolved bundle did not change", "note: no upgrade from base of h100-eks-training: not there")
	edit(t, filepath.Join(recipes, "components", "cert-manager", "values.yaml"), "\n", "\nzzz: 1\n")
	changed, results := runTier(t, args...)
	for _, want := range []string{"eks/helm from base", "eks-training/helm from base"} {
		if got := cellsOf(results); !strings.Contains(got, want) || strings.Contains(got, "h100-eks-training/helm from") {
			t.Errorf("a value changed: got %s, want %s\n%s", got, want, changed.stderr)
		}
	}
}
