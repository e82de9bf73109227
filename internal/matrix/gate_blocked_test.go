package matrix

import (
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// One cause of a chain, and what has nothing to do with it is not put down to it (F09).
func TestConsequences(t *testing.T) {
	releases := []bundle.Release{
		{Name: "a"}, {Name: "b", DependsOn: []string{"a"}}, {Name: "c", DependsOn: []string{"b"}}, {Name: "x"}, {Name: "y", DependsOn: []string{"x"}},
	}
	item := func(ids ...string) (list []Item) {
		for _, id := range ids {
			kind, name, _ := strings.Cut(id, " ")
			list = append(list, Item{ID: "called otherwise", Ref: result.Ref{Kind: kind, Name: name}})
		}
		return list
	}
	tests := map[string]struct {
		failed, blocked []Item
		want            []string
	}{
		"a chain":           {item("HelmRelease a"), item("HelmRelease b", "HelmRelease c"), []string{"2 more wait for that"}},
		"and another":       {item("HelmRelease a"), item("HelmRelease b", "HelmRelease c", "HelmRelease y"), []string{"2 more wait for that", "1 more wait for others, which were on their way"}},
		"only others":       {item("HelmRelease c"), item("HelmRelease y"), []string{"1 more wait for others, which were on their way"}},
		"a root":            {item("Kustomization aicr-demo"), item("HelmRelease b", "HelmRelease y"), []string{"2 more wait for that"}},
		"one after another": {item("Release a"), item("Release b", "Release c", "Release x", "Release y"), []string{"4 more wait for that"}},
		"nothing waits":     {item("HelmRelease a"), nil, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := consequences(tc.failed, tc.blocked, releases); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
