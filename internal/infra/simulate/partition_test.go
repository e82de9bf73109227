package simulate

import (
	"cmp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
)

// The GPUs of nodes are cut as the values of the GPU operator say it, and no others.
func TestPartitioned(t *testing.T) {
	const custom = "{migManager: {config: {default: ours, data: {config.yaml: \"mig-configs: {ours: [{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 2, 3g.40gb: 1}}], one: [{devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 7}}]}\"}}}, mig: {strategy: mixed}}"
	for name, c := range map[string]struct {
		accelerator, values string
		want                map[string]string // of an accelerated node
		line                string
	}{
		"mixed":                 {"h100", "{migManager: {config: {default: all-1g.10gb}}, mig: {strategy: mixed}}", map[string]string{"nvidia.com/mig-1g.10gb": "56", "nvidia.com/gpu": "0"}, "are MIG devices (56 1g.10gb on a node)"},
		"half of the memory":    {"h100", "{migManager: {config: {default: all-3g.40gb}}, mig: {strategy: mixed}}", map[string]string{"nvidia.com/mig-3g.40gb": "16", "nvidia.com/gpu": "0"}, "16 3g.40gb"},
		"single":                {"h100", "{migManager: {config: {default: all-1g.20gb}}, mig: {strategy: single}}", map[string]string{"nvidia.com/gpu": "32"}, "32 1g.20gb"},
		"a configuration":       {"h100", custom, map[string]string{"nvidia.com/mig-1g.10gb": "16", "nvidia.com/mig-3g.40gb": "8", "nvidia.com/gpu": "0"}, "(16 1g.10gb, 8 3g.40gb on a node)"},
		"of one GPU":            {"h100", strings.Replace(custom, "default: ours", "default: one", 1), map[string]string{"nvidia.com/gpu": "8"}, ""},
		"none of that name":     {"h100", strings.Replace(custom, "default: ours", "default: all-1g.10gb", 1), map[string]string{"nvidia.com/gpu": "8"}, ""},
		"GPUs that are not cut": {"l40", "{migManager: {config: {default: all-1g.10gb}}, mig: {strategy: mixed}}", map[string]string{"nvidia.com/gpu": "8"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			groups, err := ChooseProfiles(shippedProfiles(t), "eks", c.accelerator, DefaultNodeGroups(1, 1))
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]any{}
			if err := yaml.Unmarshal([]byte(c.values), &values); err != nil {
				t.Fatal(err)
			}
			cut, line := Partitioned(groups, values)
			if !strings.Contains(line, cmp.Or(c.line, "the GPUs are whole, though")) {
				t.Errorf("got %q, want %q", line, c.line)
			}
			for _, n := range Nodes(cut)[1:] {
				for name, q := range n.Status.Allocatable {
					if strings.HasPrefix(string(name), "nvidia.com/") && c.want[string(name)] != q.String() {
						t.Errorf("%s: got %s, want %q", name, q.String(), c.want[string(name)])
					}
				}
				for name := range c.want {
					if _, ok := n.Status.Allocatable[corev1.ResourceName(name)]; !ok {
						t.Errorf("no %s", name)
					}
				}
			}
			whole := Nodes(groups)[1].Status.Capacity[infra.GPUResource]
			if whole.Value() != 8 {
				t.Errorf("the groups that were given have %s GPUs", whole.String())
			}
		})
	}
	for _, off := range []string{"{}", "{mig: {strategy: mixed}}", "{mig: {strategy: none}, migManager: {config: {default: all-1g.10gb}}}", "{migManager: {enabled: false, config: {default: all-1g.10gb}}}", "{migManager: {config: {default: all-disabled}}}"} {
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte(off), &values); err != nil {
			t.Fatal(err)
		}
		if p := partitionOf(values); p != nil {
			t.Errorf("%s: got %+v", off, p)
		}
	}
}
