//go:build nightly

package embedded

import (
	"os"
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/kwok"
)

// The APIs that charts see with --kubernetes are those that this version's API server serves. The
// lowest and the highest are compiled for other tests of a night anyway.
func TestNightlyAPIVersions(t *testing.T) {
	own, root := realStack(t), infratest.ShortTempDir(t)
	minors, err := own.Minors(kwok.Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := host.DefaultPaths(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for i, minor := range []string{minors[0], minors[len(minors)-1]} {
		t.Run(minor, func(t *testing.T) {
			other, err := own.WithKubernetes(paths, kwok.Kubernetes, minor)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Build(t.Context(), logProgress{t}, stack.GroupControlPlane); err != nil {
				t.Fatal(err)
			}
			c := newCluster(t, other, root, []string{"lowest", "highest"}[i])
			if err := c.up(t.Context()); err != nil {
				t.Fatal(err)
			}
			live, want := discovered(t, c), bundle.APIsOf(other.KubeVersion()).Server
			for _, a := range live {
				if !slices.Contains(want, a) {
					t.Errorf("it serves %+v, which charts do not see", a)
				}
			}
			for _, a := range want {
				if !slices.Contains(live, a) {
					t.Errorf("charts see %+v, which it does not serve", a)
				}
			}
		})
	}
}
