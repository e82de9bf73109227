package observe

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestEligibleNodes(t *testing.T) {
	tolerateAll := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	required := func(key string, op corev1.NodeSelectorOperator, values ...string) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}},
		}}}
	}
	preferred := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
		{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "x", Operator: corev1.NodeSelectorOpExists}}}},
	}}}
	all := []string{"s0", "s1", "a0", "a1"}
	tests := map[string]struct {
		spec corev1.PodSpec
		want []string
	}{
		"no toleration at all":          {corev1.PodSpec{}, nil},
		"every toleration":              {corev1.PodSpec{Tolerations: tolerateAll}, all},
		"one of two taints":             {corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "kwok.x-k8s.io/node", Operator: corev1.TolerationOpExists}}}, []string{"s0", "s1"}},
		"selector":                      {corev1.PodSpec{Tolerations: tolerateAll, NodeSelector: map[string]string{bundle.NodeTypeLabel: "accelerated"}}, []string{"a0", "a1"}},
		"selector that matches nothing": {corev1.PodSpec{Tolerations: tolerateAll, NodeSelector: map[string]string{"disktype": "ssd"}}, nil},
		"selector, taint in the way":    {corev1.PodSpec{NodeSelector: map[string]string{bundle.NodeTypeLabel: "accelerated"}}, nil},
		"required affinity":             {corev1.PodSpec{Tolerations: tolerateAll, Affinity: required(bundle.NodeTypeLabel, corev1.NodeSelectorOpNotIn, "accelerated")}, []string{"s0", "s1"}},
		"affinity and selector":         {corev1.PodSpec{Tolerations: tolerateAll, NodeSelector: map[string]string{corev1.LabelOSStable: "linux"}, Affinity: required(bundle.NodeTypeLabel, corev1.NodeSelectorOpIn, "accelerated")}, []string{"a0", "a1"}},
		"affinity to nothing":           {corev1.PodSpec{Tolerations: tolerateAll, Affinity: required("node-role.kubernetes.io/control-plane", corev1.NodeSelectorOpExists)}, nil},
		"preferences do not count":      {corev1.PodSpec{Tolerations: tolerateAll, Affinity: preferred}, all},
		"one node by name":              {corev1.PodSpec{Tolerations: tolerateAll, NodeName: "a1"}, []string{"a1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := EligibleNodes(&tc.spec, testkit.NodeList(testkit.TestNodes())); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A provider's API server may let pods tolerate what they request.
func TestAdmitted(t *testing.T) {
	container := func(list corev1.ResourceList) []corev1.Container {
		return []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: list}}}
	}
	gpu := corev1.Toleration{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	one := resource.MustParse("1")
	for name, tc := range map[string]struct {
		plugin string
		spec   corev1.PodSpec
		want   []corev1.Toleration
	}{
		"a GPU":                {infra.ExtendedResourceToleration, corev1.PodSpec{Containers: container(corev1.ResourceList{"nvidia.com/gpu": one})}, []corev1.Toleration{gpu}},
		"in an init container": {infra.ExtendedResourceToleration, corev1.PodSpec{InitContainers: container(corev1.ResourceList{"nvidia.com/gpu": one})}, []corev1.Toleration{gpu}},
		"Kubernetes' own":      {infra.ExtendedResourceToleration, corev1.PodSpec{Containers: container(corev1.ResourceList{"cpu": one, "kubernetes.io/x": one, "hugepages-2Mi": one})}, nil},
		"without the plug-in":  {"", corev1.PodSpec{Containers: container(corev1.ResourceList{"nvidia.com/gpu": one})}, nil},
		"with another plug-in": {"Other", corev1.PodSpec{Containers: container(corev1.ResourceList{"nvidia.com/gpu": one})}, nil},
		"one of two plug-ins":  {"Other," + infra.ExtendedResourceToleration, corev1.PodSpec{Containers: container(corev1.ResourceList{"nvidia.com/gpu": one})}, []corev1.Toleration{gpu}},
	} {
		t.Run(name, func(t *testing.T) {
			node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infra.AdmissionAnnotation: tc.plugin}}}
			if got := Admitted(&tc.spec, []corev1.Node{{}, node}).Tolerations; !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if len(tc.spec.Tolerations) > 0 {
				t.Error("the template itself was changed")
			}
		})
	}
}

func TestTolerated(t *testing.T) {
	gpu := corev1.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}
	evict := corev1.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoExecute}
	prefer := corev1.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectPreferNoSchedule}
	condition := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}
	equal := func(value string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpEqual, Value: value, Effect: effect}
	}
	tests := map[string]struct {
		taints []corev1.Taint
		with   []corev1.Toleration
		want   bool
	}{
		"no taint":                   {nil, nil, true},
		"no toleration":              {[]corev1.Taint{gpu}, nil, false},
		"a preference is no refusal": {[]corev1.Taint{prefer}, nil, true},
		"the node's own condition":   {[]corev1.Taint{condition}, nil, true},
		"equal":                      {[]corev1.Taint{gpu}, []corev1.Toleration{equal("present", corev1.TaintEffectNoSchedule)}, true},
		"without an operator: equal": {[]corev1.Taint{gpu}, []corev1.Toleration{{Key: "nvidia.com/gpu", Value: "present"}}, true},
		"another value":              {[]corev1.Taint{gpu}, []corev1.Toleration{equal("absent", corev1.TaintEffectNoSchedule)}, false},
		"another effect":             {[]corev1.Taint{evict}, []corev1.Toleration{equal("present", corev1.TaintEffectNoSchedule)}, false},
		"every effect":               {[]corev1.Taint{gpu, evict}, []corev1.Toleration{equal("present", "")}, true},
		"another key":                {[]corev1.Taint{gpu}, []corev1.Toleration{{Key: "amd.com/gpu", Operator: corev1.TolerationOpExists}}, false},
		"one of two":                 {[]corev1.Taint{gpu, evict}, []corev1.Toleration{equal("present", corev1.TaintEffectNoExecute)}, false},
		"two for two":                {[]corev1.Taint{gpu, evict}, []corev1.Toleration{equal("present", corev1.TaintEffectNoExecute), equal("present", corev1.TaintEffectNoSchedule)}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			n := &corev1.Node{Spec: corev1.NodeSpec{Taints: tc.taints}}
			if got := Tolerated(&corev1.PodSpec{Tolerations: tc.with}, n); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// The node that runs a cluster's own pods is no part of what a recipe is verified on, whatever a
// template tolerates.
func TestPoll_HostNodes(t *testing.T) {
	host := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "kind-control-plane", Labels: map[string]string{infra.HostNodeLabel: "true"}}}
	v, err := Poll(t.Context(), fake.NewClientset(testkit.Objects(append(testkit.TestNodes(), host), nil)...))
	if err != nil {
		t.Fatal(err)
	}
	if got := EligibleNodes(&corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}, v.Nodes); slices.Contains(got, host.Name) || len(got) != 4 {
		t.Errorf("got %q", got)
	}
}
