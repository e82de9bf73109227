package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
)

// writeSchedulerConfig writes the configuration of a kube-scheduler that simulates other schedulers
// too, and returns its path, or "" without other schedulers. One process simulates all of them,
// because two processes would see each other's pods late and could assign a node twice.
func (c *ControlPlane) writeSchedulerConfig() (string, error) {
	if len(c.schedulers) == 0 {
		return "", nil
	}
	raw, err := simulate.SchedulerConfig("", append([]string{corev1.DefaultSchedulerName}, c.schedulers...)) // kwokctl adds the kubeconfig
	if err != nil {
		return "", fmt.Errorf("write the scheduler's configuration: %w", err)
	}
	file := filepath.Join(c.dir, schedulerProfiles)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return "", fmt.Errorf("write the scheduler's configuration: %w", err)
	}
	return file, nil
}

// schedulerProfiles is the file of writeSchedulerConfig.
const schedulerProfiles = "kube-scheduler-profiles.yaml"

// Schedulers are the names of the schedulers that kube-scheduler simulates in the cluster of a
// directory.
func Schedulers(dir string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, schedulerProfiles))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var config map[string]any
	if err := yaml.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("read the scheduler's configuration: %w", err)
	}
	return slices.DeleteFunc(simulate.SchedulerNames(config), func(name string) bool { return name == corev1.DefaultSchedulerName }), nil
}
