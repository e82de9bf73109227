// Command aicr generates AICR recipes, answers questions about them, and bundles them for a deployer. See docs/aicr.md.
package main

import (
	"os"

	"github.com/nvidia/aicr-action/internal/cli"
)

func main() { os.Exit(cli.Main(run)) }
