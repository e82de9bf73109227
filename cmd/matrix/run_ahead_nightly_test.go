//go:build nightly

package main

import "testing"

// TestNightlyAheadIsNotTaken: a failed cell ends a run with --fail-fast, which leaves no more than the
// runs of TestAheadIsNotTaken.
func TestNightlyAheadIsNotTaken(t *testing.T) {
	t.Parallel()
	aheadNotTaken{[]string{"--fail-fast"}, 0, 50, "eks/argocd-oci was red, and the run ends with the first such cell (--fail-fast)"}.run(t)
}
