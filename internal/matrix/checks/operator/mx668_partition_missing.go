package operator

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

var partitionMissing = judge.Check{
	ID: "MX668", Name: "mig-configuration-missing", Needs: judge.Rendered, Kinds: judge.KindsOf("nvidia.com", "ClusterPolicy"),
	Title: "The MIG manager's default is one of its configurations",
	Why: "Nodes without the label nvidia.com/mig.config get the configuration that migManager.config.default names, from the key config.yaml of the ConfigMap " +
		"(https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html). With one that is not there nvidia.com/mig.config.state stays failed.",
	Fix:  "Correct the name, or add the configuration.",
	Says: "has the default %s for MIG, and ConfigMap %s has no such configuration (it has %s)", Then: "no node is partitioned: nvidia.com/mig.config.state stays failed",
	Others: map[string]judge.Message{"unread": {Says: "names ConfigMap %[2]s for MIG, whose config.yaml is no list of mig-configs: %[3]s", Then: "no node is partitioned: nvidia.com/mig.config.state stays failed"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("nvidia.com", "ClusterPolicy")...) {
			_, c, byDefault := configurationOf(s, o, "migManager")
			if c == nil || c.Data["config.yaml"] == "" { // MX663's
				continue
			}
			full := infra.NamespacedName(c.Namespace, c.Name)
			var list struct {
				Configs map[string]any `json:"mig-configs"`
			}
			if err := yaml.Unmarshal([]byte(c.Data["config.yaml"]), &list); err != nil {
				s.ReportAs("unread", o, "spec.migManager.config.name", "", full, err).SetBy(c.Name)
			} else if byDefault != "" && list.Configs[byDefault] == nil {
				s.Report(o, "spec.migManager.config.default", byDefault, full, strings.Join(lists.AtMost(slices.Sorted(maps.Keys(list.Configs)), 5), ", ")).SetBy(byDefault)
			}
		}
	},
}
