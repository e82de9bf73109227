package fluxapi

import (
	"slices"
	"testing"
)

// A Kustomization is applied once those that it depends on are ready; a HelmRelease counts only where
// one of these waits for it.
func TestBefore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		graph DependencyGraph
		want  []string
	}{
		"one that does not wait":       {DependencyGraph{"infra": {Releases: []string{"cache"}}, "apps": {DependsOn: []string{"infra"}}}, nil},
		"one that waits":               {DependencyGraph{"infra": {Releases: []string{"cache"}, Waits: true}, "apps": {DependsOn: []string{"infra"}}}, []string{"cache"}},
		"a health check":               {DependencyGraph{"infra": {Releases: []string{"cache", "db"}, Checks: []string{"db"}}, "apps": {DependsOn: []string{"infra"}}}, []string{"db"}},
		"what is applied":              {DependencyGraph{"infra": {Applied: []string{"infra"}}, "apps": {DependsOn: []string{"infra"}}}, []string{"infra"}},
		"over one that does not wait":  {DependencyGraph{"crds": {Releases: []string{"crds"}, Waits: true}, "infra": {DependsOn: []string{"crds"}}, "apps": {DependsOn: []string{"infra"}}}, []string{"crds"}},
		"what its parent depends on":   {DependencyGraph{"infra": {Releases: []string{"cache"}, Waits: true}, "all": {DependsOn: []string{"infra"}}, "apps": {Parent: "all"}}, []string{"cache"}},
		"the children of one":          {DependencyGraph{"infra": {Waits: true}, "inner": {Parent: "infra", Releases: []string{"db"}, Waits: true}, "apps": {DependsOn: []string{"infra"}}}, []string{"db"}},
		"children, without waiting":    {DependencyGraph{"infra": {}, "inner": {Parent: "infra", Releases: []string{"db"}, Waits: true}, "apps": {DependsOn: []string{"infra"}}}, nil},
		"a child that a check names":   {DependencyGraph{"infra": {CheckedChildren: []string{"inner"}}, "inner": {Parent: "infra", Releases: []string{"db"}, Waits: true}, "apps": {DependsOn: []string{"infra"}}}, []string{"db"}},
		"a circle ends":                {DependencyGraph{"infra": {DependsOn: []string{"apps"}, Waits: true, Releases: []string{"a"}}, "apps": {DependsOn: []string{"infra"}, Waits: true}}, []string{"a"}},
		"one that is of another path":  {DependencyGraph{"apps": {DependsOn: []string{"gone"}}}, nil},
		"its own HelmReleases are not": {DependencyGraph{"apps": {Releases: []string{"web"}, Waits: true}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.graph.Before("apps"); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
