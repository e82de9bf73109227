package cli

import (
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Settings is .settings.yaml.
type Settings struct {
	Go struct {
		// Minimum is the oldest Go that compiles the stack, e.g. 1.26.
		Minimum string `json:"minimum"`
	} `json:"go"`
	Nodes struct {
		System      int `json:"system"`
		Accelerated int `json:"accelerated"`
	} `json:"nodes"`
	Registry struct {
		HostPort int `json:"hostPort"`
	} `json:"registry"`
	Cluster struct {
		Name string `json:"name"`
	} `json:"cluster"`
	Kind struct {
		// NodeImage is that of Kind clusters, RegistryImage that of the registry in them. Only
		// --platform kind needs them.
		NodeImage     string `json:"nodeImage"`
		RegistryImage string `json:"registryImage"`
	} `json:"kind"`
}

func readSettings(raw []byte, name string) (Settings, error) {
	var s Settings
	if err := yaml.UnmarshalStrict(raw, &s); err != nil {
		return s, reason.New(reason.SettingsInvalid, "read %s: %w", name, err)
	}
	for _, field := range []struct {
		name  string
		empty bool
	}{
		{"go.minimum", s.Go.Minimum == ""}, {"nodes.system", s.Nodes.System <= 0}, {"nodes.accelerated", s.Nodes.Accelerated <= 0},
		{"registry.hostPort", s.Registry.HostPort <= 0}, {"cluster.name", s.Cluster.Name == ""},
	} {
		if field.empty {
			return s, reason.New(reason.SettingsInvalid, "%s: the field %s is missing or not positive", name, field.name)
		}
	}
	return s, nil
}

// NodeGroups are the nodes of every cluster.
func (s Settings) NodeGroups() []simulate.NodeGroup {
	return simulate.DefaultNodeGroups(s.Nodes.System, s.Nodes.Accelerated)
}
