package gate

import (
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// One cause of a chain. Items that do not depend on it are not counted as its consequences (F09).
func TestConsequences(t *testing.T) {
	list := testkit.MustDeliver("OCIRepository src", "*Kustomization aicr-demo < OCIRepository src", "ArtifactGenerator c < OCIRepository src", "HelmRelease a",
		"HelmRelease b < HelmRelease a", "HelmRelease c < ArtifactGenerator c, HelmRelease b", "HelmRelease x", "HelmRelease y < HelmRelease x")
	item := func(ids ...string) (items []lane.Item) {
		for _, id := range ids {
			it := lane.Item{ID: "called otherwise", Ref: result.Ref{Kind: "Release", Name: strings.TrimPrefix(id, "Release ")}}
			if !strings.HasPrefix(id, "Release ") { // the harness's own releases are no objects of the bundle's
				it.Ref = testkit.MustDeliver(id)[0].Ref
			}
			items = append(items, it)
		}
		return items
	}
	tests := map[string]struct {
		failed, blocked []lane.Item
		want            []string
	}{
		"a chain":           {item("HelmRelease a"), item("HelmRelease b", "HelmRelease c"), []string{"2 more blocked by this failure"}},
		"and another":       {item("HelmRelease a"), item("HelmRelease b", "HelmRelease c", "HelmRelease y"), []string{"2 more blocked by this failure", "1 more waiting for dependencies that were still in progress"}},
		"only others":       {item("HelmRelease c"), item("HelmRelease y"), []string{"1 more waiting for dependencies that were still in progress"}},
		"a root":            {item("Kustomization aicr-demo"), item("HelmRelease b", "HelmRelease y"), []string{"2 more blocked by this failure"}},
		"one after another": {item("Release a"), item("Release b", "Release c", "Release x", "Release y"), []string{"4 more blocked by this failure"}},
		"the source":        {item("OCIRepository src"), item("HelmRelease b", "HelmRelease y"), []string{"2 more blocked by this failure"}},
		"a local chart":     {item("ArtifactGenerator c"), item("HelmRelease c", "HelmRelease y"), []string{"1 more blocked by this failure", "1 more waiting for dependencies that were still in progress"}},
		"nothing waits":     {item("HelmRelease a"), nil, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := consequences(tc.failed, tc.blocked, list); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	halves := testkit.MustDeliver("*Application core", "*Application ops", "Application a", "Application b", "Application c")
	for i, of := range []string{"core", "ops", "ops"} {
		halves[2+i].Of = of
	}
	if got, want := consequences(item("Application ops"), item("Application a", "Application b", "Application c"), halves), []string{"2 more blocked by this failure", "1 more waiting for dependencies that were still in progress"}; !slices.Equal(got, want) {
		t.Errorf("one of two roots: got %q, want %q", got, want)
	}
}
