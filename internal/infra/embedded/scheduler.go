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

// writeSchedulerConfig writes the configuration of a kube-scheduler that plays other schedulers
// too, and gives its path; "" if there is none to play. One process plays them all: with two, each
// would count the other's pods late, and a node could be given away twice.
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

// Schedulers are those that the cluster in a directory plays besides the default one.
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
