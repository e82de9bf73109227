//go:build nightly

package main

import "testing"

// TestNightlyAhead_CellDoesNotRun: a failed cell ends a run with --fail-fast, which leaves no more than
// the runs of TestAhead_CellDoesNotRun.
func TestNightlyAhead_CellDoesNotRun(t *testing.T) {
	t.Parallel()
	aheadNotTaken{[]string{"--fail-fast"}, 0, 50, "eks/argocd-oci was red, and the run ends with the first such cell (--fail-fast)"}.run(t)
}
