package simulate

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
)

// grown is the only profile of a directory, with these groups.
func grown(groups string) fstest.MapFS {
	files := own(map[string]string{"grown": "criteria: {service: eks, accelerator: h100}\n  nodeType: accelerated\n  labels: {tier: all, kept: \"yes\"}\n  taints: [{key: gpu, effect: NoSchedule}]"})
	return fstest.MapFS{"grown.yaml": {Data: append(files["grown.yaml"].Data, []byte("  groups:\n"+groups)...)}}
}

// A profile's groups take the place of a number of nodes. What a group does not say is as in its profile.
func TestGroups(t *testing.T) {
	all, err := LayerProfiles(shippedProfiles(t), grown(`    - {name: first, min: 2, max: 5}
    - {name: full, min: 1, max: 1}
    - name: big
      max: 3
      instanceType: bigger
      zones: [b, c]
      labels: {tier: big}
      taints: [{key: big, value: "1", effect: NoExecute}]
      capacity: {cpu: "64"}
      gpu: {product: Y, count: 8, memoryMiB: 9, driver: "580.2"}
`), "own")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := ChooseProfiles(all, "eks", "h100", DefaultNodeGroups(2, 4))
	if err != nil {
		t.Fatal(err)
	}
	names := func(nodes []*corev1.Node) (all []string) {
		for _, n := range nodes {
			all = append(all, n.Name)
		}
		return all
	}
	if got := names(Nodes(groups)); !slices.Equal(got, []string{"system-0", "system-1", "accelerated-0", "accelerated-1", "accelerated-2"}) {
		t.Errorf("from the start: got %q", got)
	}
	if got := names(MostNodes(groups)); len(got) != 2+5+1+3 {
		t.Errorf("at most: got %q", got)
	}
	growing := Growing(groups)
	if len(growing) != 2 {
		t.Fatalf("got %d groups that may grow, want first and big", len(growing))
	}
	first, big := growing[0], growing[1]
	if first.Name != "accelerated-first" || first.Most != 3 || first.Min != 2 || first.Max != 5 || first.Origin != "own/grown.yaml:17" || !slices.Equal(first.Zones, []string{"a"}) {
		t.Errorf("got %+v", first)
	}
	if got := first.Node; got.Labels["tier"] != "all" || got.Labels[corev1.LabelInstanceTypeStable] != "mine" || len(got.Spec.Taints) != 2 || infra.NodeGPUs(got) != 1 {
		t.Errorf("as its profile: got %+v", got)
	}
	gpus := big.Node.Status.Allocatable[infra.GPUResource]
	if got := big.Node; big.Name != "accelerated-big" || big.Origin != "own/grown.yaml:20" || got.Labels["tier"] != "big" || got.Labels["kept"] != "yes" || got.Labels[corev1.LabelInstanceTypeStable] != "bigger" || got.Labels[corev1.LabelTopologyZone] != "b" ||
		len(got.Spec.Taints) != 3 || got.Status.Allocatable.Cpu().String() != "64" || got.Status.Allocatable.Memory().String() != "16Gi" || gpus.Value() != 8 {
		t.Errorf("what it says itself: got %+v", got)
	}
	if got := first.Node; got.Spec.Taints[1].Key != "gpu" {
		t.Errorf("a group changed what another has: %+v", got.Spec.Taints)
	}
	if Growing(groups[:1]) != nil || (&groups[0]).Pool() != "" {
		t.Error("nodes whose number is given are of no group")
	}
}

// What no group can be made of is refused with its line.
func TestGroups_Refused(t *testing.T) {
	for groups, want := range map[string]string{
		"    - {name: a, max: 2, most: 3}":                                             `own/grown.yaml:17: unknown field "most"`,
		"    - {max: 2}":                                                               "own/grown.yaml:17: spec.groups[0].name is missing",
		"    - {name: A_b, max: 2}":                                                    `own/grown.yaml:17: spec.groups[0].name "A_b" cannot be the name of a group: a lowercase RFC 1123 label`,
		"    - {name: " + strings.Repeat("a", 41) + ", max: 2}":                        "own/grown.yaml:17: spec.groups[0].name has 41 characters, want at most 40",
		"    - {name: a, max: 2}\n    - {name: a, max: 2}":                             `own/grown.yaml:18: spec.groups[1].name "a" is that of a group above`,
		"    - {name: a}":                                                              "own/grown.yaml:17: spec.groups[0].max is 0; want 1 to 1000",
		"    - {name: a, max: 1001}":                                                   "own/grown.yaml:17: spec.groups[0].max is 1001; want 1 to 1000",
		"    - {name: a, min: -1, max: 2}":                                             "own/grown.yaml:17: spec.groups[0].min is -1; want 0 or more",
		"    - name: a\n      max: 2\n      min: 3":                                    "own/grown.yaml:19: spec.groups[0].min is 3, more than its max of 2",
		"    - {name: a, max: two}":                                                    "own/grown.yaml:17: ",
		"    - {name: a, max: 2, instanceType: a b}":                                   `own/grown.yaml:17: spec.groups[0].instanceType "a b" cannot be a label`,
		"    - {name: a, max: 2, zones: ['']}":                                         `own/grown.yaml:17: spec.groups[0].zones has ""`,
		"    - name: a\n      max: 2\n      labels:\n        tier: a b":                `own/grown.yaml:20: tier: "a b" cannot be a label of a node`,
		"    - name: a\n      max: 2\n      taints: [{key: x, effect: Never}]":         "own/grown.yaml:19: spec.taints[1].effect is \"Never\"",
		"    - name: a\n      max: 2\n      capacity: {cpu: many}":                     `own/grown.yaml:19: spec.capacity.cpu is "many"`,
		"    - name: a\n      max: 2\n      gpu: {product: Y, count: 8, driver: none}": "own/grown.yaml:19: spec.gpu.memoryMiB is 0",
		"    []": "own/grown.yaml:16: spec.groups is empty",
	} {
		_, err := LayerProfiles(shippedProfiles(t), grown(groups+"\n"), "own")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", groups, err, want)
		}
	}
}
