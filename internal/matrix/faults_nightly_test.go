//go:build nightly

package matrix

import "testing"

// TestNightlyFaultInjection runs the rows of the table in the lanes that `make test` leaves out.
func TestNightlyFaultInjection(t *testing.T) {
	t.Parallel()
	injectFaults(t, func(s seed) []string { return s.nightly })
}
