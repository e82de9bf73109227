// Command gpu-scheduler places pods on nodes and GPUs by a map, and checks in pods that it did. See docs/gpu-scheduler.md.
package main

import (
	"os"

	"github.com/nvidia/aicr-action/internal/gpuscheduler"
)

func main() { os.Exit(gpuscheduler.Main()) }
