// Command matrix runs AICR recipes through their deployers on a simulated GPU cluster. See
// README.md.
package main

import (
	"os"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/util/reexec"
)

func main() {
	if code, ok := reexec.Dispatch(cli.Hidden()...); ok { // a process that this program started of itself
		os.Exit(code)
	}
	warnMisspelt(os.Stderr, "matrix", os.Environ(), variables())
	os.Exit(cli.Main(execute))
}
