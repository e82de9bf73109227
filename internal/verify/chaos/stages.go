package chaos

import (
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/kwok"
)

// failStage is the KWOK stage by which failPods makes a running pod fail.
const failStage = "pod-container-running-failed"

// Stages are the KWOK stages that a cluster needs for chaos steps, as one YAML stream. The one that
// ends deleted pods takes the place of KWOK's own.
func Stages() ([]byte, error) {
	all, err := simulate.Stages(kwok.Files, "stages/chaos")
	if err != nil {
		return nil, err
	}
	failing, err := kwok.Files.ReadFile("stages/workflow/" + failStage + ".yaml")
	if err != nil {
		return nil, err
	}
	return append(append(all, "\n---\n"...), failing...), nil
}

const (
	// stoppedLabel on a node has KWOK's stage node-not-ready hold it down.
	stoppedLabel = "node-not-ready.stage.kwok.x-k8s.io"
	// kubelet is an annotation of pods on such a node; while it is "stopped", KWOK does not end the
	// pod when it is deleted.
	kubelet = "chaos.aicr.nvidia.com/kubelet"
	stopped = "stopped"
	// gpusBefore is an annotation of a node that has lost GPUs: how many it had.
	gpusBefore = "chaos.aicr.nvidia.com/gpus-before"
)
