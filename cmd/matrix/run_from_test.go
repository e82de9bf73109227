package main

import "testing"

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
