// Command gpu-scheduler places pods on nodes and GPUs by a map, and checks in pods that it did. It
// must not know Argo CD, recipes, or where its pods run. See examples/gpu-scheduler/README.md.
package main

import (
	"os"
)

func main() { os.Exit(run()) }
