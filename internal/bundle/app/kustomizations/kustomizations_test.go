package kustomizations

import (
	"slices"
	"testing"
)

// A Kustomization is applied once those that it depends on are ready; a HelmRelease counts only where
// one of these waits for it.
func TestBefore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		graph Graph
		want  []string
	}{
		"one that does not wait":       {Graph{"infra": {Releases: []string{"cache"}}, "apps": {DependsOn: []string{"infra"}}}, nil},
		"one that waits":               {Graph{"infra": {Releases: []string{"cache"}, Waits: true}, "apps": {DependsOn: []string{"infra"}}}, []string{"cache"}},
		"a health check":               {Graph{"infra": {Releases: []string{"cache", "db"}, Checks: []string{"db"}}, "apps": {DependsOn: []string{"infra"}}}, []string{"db"}},
		"what is applied":              {Graph{"infra": {Applied: []string{"infra"}}, "apps": {DependsOn: []string{"infra"}}}, []string{"infra"}},
		"over one that does not wait":  {Graph{"crds": {Releases: []string{"crds"}, Waits: true}, "infra": {DependsOn: []string{"crds"}}, "apps": {DependsOn: []string{"infra"}}}, []string{"crds"}},
		"what its parent depends on":   {Graph{"infra": {Releases: []string{"cache"}, Waits: true}, "all": {DependsOn: []string{"infra"}}, "apps": {Parent: "all"}}, []string{"cache"}},
		"the children of one":          {Graph{"infra": {Waits: true}, "inner": {Parent: "infra", Releases: []string{"db"}, Waits: true}, "apps": {DependsOn: []string{"infra"}}}, []string{"db"}},
		"children, without waiting":    {Graph{"infra": {}, "inner": {Parent: "infra", Releases: []string{"db"}, Waits: true}, "apps": {DependsOn: []string{"infra"}}}, nil},
		"a child that a check names":   {Graph{"infra": {CheckedChildren: []string{"inner"}}, "inner": {Parent: "infra", Releases: []string{"db"}, Waits: true}, "apps": {DependsOn: []string{"infra"}}}, []string{"db"}},
		"a circle ends":                {Graph{"infra": {DependsOn: []string{"apps"}, Waits: true, Releases: []string{"a"}}, "apps": {DependsOn: []string{"infra"}, Waits: true}}, []string{"a"}},
		"one that is of another path":  {Graph{"apps": {DependsOn: []string{"gone"}}}, nil},
		"its own HelmReleases are not": {Graph{"apps": {Releases: []string{"web"}, Waits: true}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.graph.Before("apps"); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
