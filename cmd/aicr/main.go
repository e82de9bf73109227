// Command aicr generates AICR recipes, answers questions about them, bundles them for a deployer,
// and compares clusters with them. See docs/aicr.md.
package main

import (
	"os"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/util/reexec"
	"github.com/nvidia/aicr-action/internal/verify/validate/agent"
)

func main() {
	if code, ok := reexec.Dispatch(cli.Hidden()...); ok { // a process that this program started of itself
		os.Exit(code)
	}
	if code, ok := agent.DispatchRunChecks(); ok { // the container of a validation Job
		os.Exit(code)
	}
	os.Exit(cli.Main(run))
}
