package why

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// The gate counts the nodes that a DaemonSet's template admits; the explanation says why others do
// not. Neither may know a node that the other does not.
func TestExplain_SameAsGate(t *testing.T) {
	taint := func(key string, effect corev1.TaintEffect) corev1.Taint {
		return corev1.Taint{Key: key, Effect: effect}
	}
	taints := map[string][]corev1.Taint{
		"none":           nil,
		"gpu":            {{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}},
		"evicting":       {{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoExecute}},
		"preferring":     {taint("nvidia.com/gpu", corev1.TaintEffectPreferNoSchedule)},
		"not ready":      {taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule), taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)},
		"disk pressure":  {taint(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)},
		"no network":     {taint(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)},
		"out of service": {taint(corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute)}, // no controller adds a toleration for it
		"cordoned":       {taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)},
		"two":            {taint("a", corev1.TaintEffectNoSchedule), taint("b", corev1.TaintEffectNoExecute)},
	}
	tolerations := map[string][]corev1.Toleration{
		"none":      nil,
		"all":       {{Operator: corev1.TolerationOpExists}},
		"gpu":       {{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}},
		"equal":     {{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}},
		"not equal": {{Key: "nvidia.com/gpu", Value: "absent"}},
		"a":         {{Key: "a", Operator: corev1.TolerationOpExists}},
		"a and b":   {{Key: "a", Operator: corev1.TolerationOpExists}, {Key: "b", Operator: corev1.TolerationOpExists}},
		"evicted":   {{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
	}
	specs := map[string]corev1.PodSpec{
		"any":        {},
		"selecting":  {NodeSelector: map[string]string{bundle.NodeTypeLabel: "system"}},
		"other kind": {NodeSelector: map[string]string{bundle.NodeTypeLabel: "accelerated"}},
		"by name":    {NodeName: "s0"},
		"other name": {NodeName: "s1"},
		"affinity": {Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: bundle.NodeTypeLabel, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"accelerated"}}}}},
		}}}},
	}
	admitted := 0
	for on, ts := range taints {
		for with, tolerating := range tolerations {
			for of, spec := range specs {
				n := testkit.NodeList(testkit.TestNodes())[0]
				n.Spec.Taints, n.Spec.Unschedulable = ts, on == "cordoned"
				spec.Tolerations = tolerating
				gate := len(observe.EligibleNodes(&spec, []corev1.Node{n})) == 1
				e := explainTemplate(&bundle.Workload{Kind: "DaemonSet", PodSpec: spec}, &observe.View{Nodes: []corev1.Node{n}})
				if explained := !e.Refused(); gate != explained {
					t.Errorf("taints %s, tolerations %s, template %s: the gate says %v, the explanation %v: %v", on, with, of, gate, explained, &e.Groups[0])
				}
				if gate {
					admitted++
				}
			}
		}
	}
	if all := len(taints) * len(tolerations) * len(specs); admitted == 0 || admitted == all {
		t.Errorf("%d of %d admitted: the table tells nothing", admitted, all)
	}
	n := testkit.NodeList(testkit.TestNodes())[0]
	n.Spec.Taints = taints["out of service"]
	if observe.Tolerated(&corev1.PodSpec{}, &n) {
		t.Error("a DaemonSet without tolerations is said to run on a node that is out of service")
	}
}
