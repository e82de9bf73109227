package workflow

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/kwok"
)

// CompleteStage is the stage that ends pods after the time in their annotations. Every cluster made
// for a workflow has it.
const CompleteStage = "pod-complete"

// StageNames returns the KWOK stages that a workflow may request.
func StageNames() []string {
	return []string{CompleteStage, "pod-init-container-running-failed", "pod-container-running-failed"}
}

// Stages returns these KWOK stages, as one YAML stream.
func Stages(names []string) ([]byte, error) {
	var all []byte
	for _, name := range names {
		if !slices.Contains(StageNames(), name) {
			return nil, fmt.Errorf("there is no KWOK stage %q; there are: %v", name, StageNames())
		}
		raw, err := kwok.Files.ReadFile("stages/workflow/" + name + ".yaml")
		if err != nil {
			return nil, err
		}
		all = append(append(all, "---\n"...), raw...)
	}
	return all, nil
}
