// Command matrix runs AICR recipes through their deployers on a simulated GPU cluster. See
// README.md.
package main

import (
	"os"

	"github.com/nvidia/aicr-action/internal/cli"
)

func main() { os.Exit(cli.Main(run)) }
