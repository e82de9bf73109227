package platform

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// WithChaosStages adds the KWOK stages that steps of chaos need.
func WithChaosStages(stages []byte) ([]byte, error) {
	more, err := chaos.Stages()
	if err != nil {
		return nil, err
	}
	return append(append(stages, "\n---\n"...), more...), nil
}

// StagesFlag adds --stages, whose value is for Stages.
func StagesFlag(cmd *cobra.Command, value *[]string) {
	cmd.Flags().StringSliceVar(value, "stages", nil, "KWOK `stages` for workflows: "+strings.Join(workflow.StageNames(), ", "))
}

// Stages are the shipped stages and these.
func Stages(names []string) ([]byte, error) {
	shipped, err := cli.Stages()
	if err != nil {
		return nil, err
	}
	names = slices.Compact(slices.Sorted(slices.Values(cli.SplitList(names))))
	more, err := workflow.Stages(names)
	if err != nil {
		return nil, cli.Usagef("--stages: %w", err)
	}
	return append(append(shipped, '\n'), more...), nil
}
