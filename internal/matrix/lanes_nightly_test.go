//go:build nightly

package matrix

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/foreign"
	"github.com/nvidia/aicr-action/internal/bundle/foreign/foreigntest"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// TestNightlyLanes runs one recipe through the lanes that TestLanes leaves out. The helm lane is
// the one that they are compared with.
func TestNightlyLanes(t *testing.T) {
	t.Parallel()
	r := stackRunner(t)
	names := append([]string{bundle.Helm, bundle.ArgoCDAppSet}, otherLanes...)
	plans := plansOf(t, r, "eks-training", deployers(t, names...)...)
	infratest.Slots(t, 2)
	results, err := r.RunAll(t.Context(), plans, 2)
	if err != nil {
		t.Errorf("run all lanes: %v", err)
	}
	for i, res := range results {
		t.Run(plans[i].Cell.Deployer, func(t *testing.T) { checkGreen(t, r, plans[i], res) })
	}
}

// TestNightlyEvidence: the helm-template lane leaves the same files of a failed cell.
func TestNightlyEvidence(t *testing.T) {
	t.Parallel()
	evidenceOf(t, deployers(t, bundle.HelmTemplate)[0])
}

// TestNightlyExternalBundler runs the lanes that TestExternalBundler leaves out.
func TestNightlyExternalBundler(t *testing.T) {
	t.Parallel()
	externalBundler(t, []externalCell{
		{foreigntest.Good, bundle.Helm, ""}, {foreigntest.Forgetful, bundle.FluxOCI, "bundle-original/cert-manager/helmrelease.yaml"},
	})
}

// TestNightlyAnotherPlatform runs the lane that TestLanesOnAnotherPlatform leaves out.
func TestNightlyAnotherPlatform(t *testing.T) {
	t.Parallel()
	onAnotherPlatform(t, bundle.Helm)
}

// TestNightlyPodsTooSlow runs the lane that TestPodsTooSlowOnTheStack leaves out.
func TestNightlyPodsTooSlow(t *testing.T) {
	t.Parallel()
	podsTooSlow(t, stackRunner(t), bundle.ArgoCDOCI)
}

// TestNightlyAheadAPIServerKilled: a cell whose API server is killed while its cluster waits is
// started from scratch.
func TestNightlyAheadAPIServerKilled(t *testing.T) {
	t.Parallel()
	brokenAhead(t, "kube-apiserver", syscall.SIGKILL, "API server") // its end, or its silence, whichever is seen first
}

// TestNightlyAheadDropped drops an Argo CD cell's cluster, too.
func TestNightlyAheadDropped(t *testing.T) {
	t.Parallel()
	r := aheadRunner(t)
	if err := begunAhead(t, r, bundle.ArgoCDOCI).drop(); err != nil {
		t.Error(err)
	}
	wantNothingOf(t, r)
}

// TestNightlyFluxNames: a bundle of AICR's CLI for Flux, without the names of releases, is the same
// as its bundle for Helm but for what these names decide.
func TestNightlyFluxNames(t *testing.T) {
	t.Parallel()
	r := stackRunner(t)
	e, err := foreign.NewExec(t.Context(), foreigntest.Install(t, foreigntest.Good), "", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	r.Bundler = e
	infratest.Slots(t, 2)
	results, err := r.RunAll(t.Context(), plansOf(t, r, "eks-training", deployers(t, bundle.Helm, bundle.FluxOCI)...), 2)
	if err != nil {
		t.Error(err)
	}
	for _, res := range results {
		if res.Status != result.Passed || (res.DeclaredDifferences > 100) != (res.Cell.Deployer == bundle.FluxOCI) {
			t.Errorf("%s: got %s with %d declared differences: %s\n%s", res.Cell, res.Status, res.DeclaredDifferences, res.Cause, strings.Join(res.Details, "\n"))
		}
		t.Logf("%s: %d objects, %d declared differences, notes %q", res.Cell, res.ComparedObjects, res.DeclaredDifferences, res.Notes)
	}
}
