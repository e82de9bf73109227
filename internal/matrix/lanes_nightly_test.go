//go:build nightly

package matrix

import (
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/foreign/foreigntest"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// TestNightlyLanes runs one recipe through the lanes that TestLanes leaves out. The helm lane is the
// one that they are compared with.
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

// TestNightlyAheadAPIServerKilled: a cell whose API server is killed while its cluster waits is started from scratch.
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
