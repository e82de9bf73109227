// Package kwok is what the simulation is made of: the stack's parts list, node profiles, KWOK stages and simulated charts.
package kwok

import "embed"

// Files has charts/, profiles/, stages/ and health.yaml. A directory of charts/ without a Chart.yaml is not a chart.
//
//go:embed all:charts profiles stages health.yaml
var Files embed.FS

// StackMod and StackSum are copies of stack/go.mod and stack/go.sum. They are copies because a directory with a go.mod is a module
// of its own, which embed cannot reach and `go install` does not bring along; `make generate` renews them, and a test compares.
var (
	//go:embed embedded/stack.mod
	StackMod []byte
	//go:embed embedded/stack.sum
	StackSum []byte
)
