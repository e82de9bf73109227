package embedded

import (
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kwok/pkg/consts"
	"sigs.k8s.io/yaml"
)

// writeSchedulerConfig writes the configuration of a kube-scheduler that plays other schedulers too, and gives its path; "" if there is none
// to play. One process plays them all: with two, each would count the other's pods late, and a node could be given away twice.
func (c *ControlPlane) writeSchedulerConfig() (string, error) {
	if len(c.schedulers) == 0 {
		return "", nil
	}
	profiles := []map[string]any{{"schedulerName": corev1.DefaultSchedulerName}}
	for _, name := range c.schedulers {
		profiles = append(profiles, map[string]any{"schedulerName": name})
	}
	// With a file, kube-scheduler ignores its flags for what the file could say: they are repeated here. kwokctl adds the kubeconfig.
	raw, err := yaml.Marshal(map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"leaderElection": map[string]any{"leaderElect": false}, "enableProfiling": false,
		"clientConnection": map[string]any{"qps": consts.DefaultUnlimitedQPS, "burst": consts.DefaultUnlimitedBurst},
		"profiles":         profiles,
	})
	if err != nil {
		return "", fmt.Errorf("write the scheduler's configuration: %w", err)
	}
	file := filepath.Join(c.dir, "kube-scheduler-profiles.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return "", fmt.Errorf("write the scheduler's configuration: %w", err)
	}
	return file, nil
}
