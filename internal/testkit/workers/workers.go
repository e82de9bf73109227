// Package workers lets a test binary start real worker processes. It is separate from testkit, so
// that tests of the lowest packages can import it.
package workers

import (
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/util/reexec"
)

// Main runs the tests of a package whose code starts these hidden commands. It is the whole of a
// TestMain; one that does more calls Serve first.
func Main(m *testing.M, commands ...[]reexec.Command) {
	Serve(commands...)
	os.Exit(m.Run())
}

// Serve exits with the result of the hidden command that this process was started for, if it was.
// Else it has this process collect less garbage, unless GOGC is set.
func Serve(commands ...[]reexec.Command) {
	if code, ok := reexec.Dispatch(slices.Concat(commands...)...); ok {
		os.Exit(code)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as commands of matrix have it: collecting took a fifth of the time of a package that renders
	}
}
