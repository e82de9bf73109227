package embedded

import (
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
)

// writeSchedulerConfig writes the configuration of a kube-scheduler that plays other schedulers too, and gives its path; "" if there is none
// to play. One process plays them all: with two, each would count the other's pods late, and a node could be given away twice.
func (c *ControlPlane) writeSchedulerConfig() (string, error) {
	if len(c.schedulers) == 0 {
		return "", nil
	}
	raw, err := simulate.SchedulerConfig("", append([]string{corev1.DefaultSchedulerName}, c.schedulers...)) // kwokctl adds the kubeconfig
	if err != nil {
		return "", fmt.Errorf("write the scheduler's configuration: %w", err)
	}
	file := filepath.Join(c.dir, "kube-scheduler-profiles.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return "", fmt.Errorf("write the scheduler's configuration: %w", err)
	}
	return file, nil
}
