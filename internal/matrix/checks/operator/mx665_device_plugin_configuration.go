package operator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	plugin "github.com/NVIDIA/k8s-device-plugin/api/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

var pluginConfiguration = judge.Check{
	ID: "MX665", Name: "device-plugin-configuration-refused", Needs: judge.Rendered, Kinds: judge.KindsOf("nvidia.com", "ClusterPolicy"), Gives: reason.WorkloadFailed,
	Title: "The device plugin reads its default configuration",
	Why: "A ClusterPolicy names a ConfigMap with configurations of the device plugin, and the key of the default one " +
		"(https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html). With one that is not there, or that it cannot read, the plugin ends with an error. The plugin's own types read it here.",
	Fix:  "Correct the configuration, or the name of the key.",
	Says: "has the default configuration %s of the device plugin, which that refuses: %s", Then: noGPUs,
	Others: map[string]judge.Message{"key": {Says: "names the key %[2]s of ConfigMap %[1]s, which has %[3]s", Then: noGPUs}},
	Run: func(s *judge.Scope) {
		eachPluginConfiguration(s, func(policy, config *bundle.Object, texts map[string]string, byDefault string) {
			text, ok := texts[byDefault]
			switch err := readPlugin(text, yaml.Unmarshal); {
			case byDefault == "": // the only one counts, or none
			case !ok:
				s.ReportAs("key", policy, "spec.devicePlugin.config.default", config.Ref().Name, byDefault, strings.Join(lists.AtMost(slices.Sorted(maps.Keys(texts)), 5), ", ")).SetBy(byDefault)
			case err != nil:
				s.Report(config, fmt.Sprintf("data[%q]", byDefault), byDefault, err)
			}
		})
	},
}

const noGPUs = "the device plugin ends with an error, and nodes get no GPUs"

var pluginConfigurations = judge.Check{
	ID: "MX666", Name: "device-plugin-configuration-unread", Needs: judge.Rendered, Kinds: judge.KindsOf("nvidia.com", "ClusterPolicy"),
	Title: "The device plugin reads each of its configurations, and all of it",
	Why: "The label nvidia.com/device-plugin.config of a node chooses a configuration for it, and its plugin ends with an error if it cannot read that. A field that it does not know is left out without a word " +
		"(https://github.com/NVIDIA/k8s-device-plugin#configuring-the-nvidia-device-plugin-binary).",
	Fix:  "Correct the configuration.",
	Says: "has the configuration %s of the device plugin, which that refuses: %s", Then: "a node that chooses it gets no GPUs",
	Others: map[string]judge.Message{"field": {Says: "has the configuration %s of the device plugin, of which that does not read all: %s", Then: "it does not do what the field is for"}},
	Run: func(s *judge.Scope) {
		eachPluginConfiguration(s, func(_, config *bundle.Object, texts map[string]string, byDefault string) {
			for _, key := range slices.Sorted(maps.Keys(texts)) {
				path := fmt.Sprintf("data[%q]", key)
				if err := readPlugin(texts[key], yaml.Unmarshal); err != nil {
					if key != byDefault {
						s.Report(config, path, key, err)
					}
				} else if err := readPlugin(texts[key], yaml.UnmarshalStrict); err != nil {
					s.ReportAs("field", config, path, key, err)
				}
			}
		})
	},
}

// eachPluginConfiguration gives each ClusterPolicy of the bundle with the ConfigMap that it names for the device plugin.
func eachPluginConfiguration(s *judge.Scope, see func(policy, config *bundle.Object, texts map[string]string, byDefault string)) {
	for _, o := range s.Rendered(judge.KindsOf("nvidia.com", "ClusterPolicy")...) {
		if at, config, byDefault := configurationOf(s, o, "devicePlugin"); config != nil {
			see(o, at, config.Data, byDefault)
		}
	}
}

// readPlugin reads a configuration as the device plugin does (parseConfigFrom of its package config/v1).
func readPlugin[O any](text string, read func([]byte, any, ...O) error) error {
	var c plugin.Config
	if err := read([]byte(text), &c); err != nil {
		return err
	}
	if c.Version != "" && c.Version != plugin.Version {
		return fmt.Errorf("version %s is not %s", c.Version, plugin.Version)
	}
	return nil
}
