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

// stageLabel follows the name of a stage in the label by which a pod asks for it.
const stageLabel = ".stage.kwok.x-k8s.io"

// stagesOf adds the shipped stages that pods of an object ask for by a label, wherever its pod
// templates are.
func stagesOf(v any, into map[string]bool) {
	switch x := v.(type) {
	case []any:
		for _, item := range x {
			stagesOf(item, into)
		}
	case map[string]any:
		for key, item := range x {
			labels, _ := item.(map[string]any)
			if key != "labels" {
				stagesOf(item, into)
				continue
			}
			for _, name := range StageNames() {
				if labels[name+stageLabel] == "true" {
					into[name] = true
				}
			}
		}
	}
}
