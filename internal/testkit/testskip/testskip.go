// Package testskip leaves tests out. No test calls t.Skip by itself, so that CI runs every test or
// fails. It knows nothing of this project, so that every package's tests can import it.
package testskip

import (
	"os"
	"testing"
)

// Short skips a test, with -short, that takes too long for it.
func Short(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: " + why)
	}
}

// Missing skips a test for which this machine lacks something. With CI=true it fails the test
// instead, because CI must run every test; except with -short, which asks for fewer tests.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" && !testing.Short() {
		t.Fatalf(format+"; with CI=true every test must run: provide what is missing", args...)
	}
	t.Skipf(format, args...)
}
