package run

import (
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
)

// readChaos reads the file of --chaos; nil without the flag.
func readChaos(f runFlags) (*chaos.Plan, error) {
	if f.chaos == "" {
		return nil, nil
	}
	if f.reuse != "" {
		return nil, cli.Usagef("--chaos and --reuse exclude each other: a cell whose verdict is reused has no cluster to break")
	}
	plan, err := chaos.Read(f.chaos)
	if err != nil {
		return nil, err
	}
	return plan, plan.CheckTasks(nil)
}
