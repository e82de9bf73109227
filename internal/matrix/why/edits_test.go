package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// The place of an edit comes from the recipe's own value, else from the registry's path, else it is
// the chart's template.
func TestEditsName(t *testing.T) {
	at := func(line int) recipe.Origin { return recipe.Origin{File: "values.yaml", Line: line} }
	w := testkit.Expected("Deployment", "d", 1, testkit.Acc)
	w.SelectorPaths = []bundle.ValuePath{{Path: "c.nodeSelector", Node: testkit.Acc, Origin: at(1)}}
	w.TolerationPaths = []bundle.ValuePath{{Path: "c.tolerations", Node: testkit.Acc, Origin: at(2), Set: true}}
	w.Values = []bundle.SteeringSource{
		{Field: bundle.FieldNodeSelector, Key: "role", Path: "c.nodeSelector.role", Origin: at(12)},
		{Field: bundle.FieldAffinity, Path: "c.affinity.terms", Origin: at(20)},
		{Field: bundle.FieldRequests, Key: "nvidia.com/gpu", Path: "c.resources.requests.nvidia.com/gpu", Origin: at(30)},
		{Field: bundle.FieldLimits, Key: "nvidia.com/gpu", Path: "c.resources.limits.nvidia.com/gpu", Origin: at(31)},
		{Field: bundle.FieldRequests, Key: "cpu", Path: "c.resources.requests.cpu", Origin: at(32)},
		{Field: bundle.FieldLimits, Key: "cpu", Path: "c.resources.limits.cpu", Origin: at(33)},
	}
	steered := selecting(bundle.NodeTypeLabel, "accelerated")
	tests := map[string]struct {
		pod  *corev1.Pod
		want []string // the edit, then the source
	}{
		"a key of the recipe": {
			wanting(selecting(bundle.NodeTypeLabel, "accelerated", "role", "gpu")),
			[]string{"remove `role: gpu` at c.nodeSelector.role in values.yaml:12", "nodeSelector role=gpu: value path c.nodeSelector.role, set in values.yaml:12"},
		},
		"a key of the harness": {
			wanting(selecting(bundle.NodeTypeLabel, "gpu")),
			[]string{"change `aicr.nvidia.com/node-type: gpu` to `aicr.nvidia.com/node-type: accelerated` at c.nodeSelector of component comp (declared in values.yaml:1)", "nodeSelector aicr.nvidia.com/node-type=gpu: value path c.nodeSelector, set by the harness only (component declared in values.yaml:1)"},
		},
		"a key of the chart": {
			wanting(selecting(bundle.NodeTypeLabel, "accelerated", corev1.LabelOSStable, "windows")),
			[]string{"change `kubernetes.io/os: windows` to `kubernetes.io/os: linux` in comp/templates/deployment.yaml (no value of the recipe reaches its selector)", "nodeSelector kubernetes.io/os=windows: comp/templates/deployment.yaml; no value of the recipe and no path of the registry reaches it"},
		},
		"tolerations": {
			wanting(steered, tolerating(bundle.KwokScheduling().SystemTolerations...)),
			[]string{"add a toleration for nvidia.com/gpu=present:NoSchedule at c.tolerations in values.yaml:2", "tolerations: value path c.tolerations, set in values.yaml:2"},
		},
		"affinity": {
			wanting(steered, preferring(in("x", "1"))),
			[]string{"remove the required node affinity `x In [1]` at c.affinity.terms in values.yaml:20", "node affinity: value path c.affinity.terms, set in values.yaml:20"},
		},
		"an extended resource: requests and limits must be equal": {
			wanting(steered, requests("nvidia.com/gpu", "16")),
			[]string{"ask for at most 8 nvidia.com/gpu at c.resources.requests.nvidia.com/gpu in values.yaml:30 and at c.resources.limits.nvidia.com/gpu in values.yaml:31", "nvidia.com/gpu: value path c.resources.requests.nvidia.com/gpu, set in values.yaml:30", "nvidia.com/gpu: value path c.resources.limits.nvidia.com/gpu, set in values.yaml:31"},
		},
		"cpu: requests decide": {
			wanting(steered, requests("cpu", "17")),
			[]string{"ask for at most 16 cpu at c.resources.requests.cpu in values.yaml:32", "cpu: value path c.resources.requests.cpu, set in values.yaml:32"},
		},
		"memory of the chart": {
			wanting(steered, requests("memory", "65Gi")),
			[]string{"ask for at most 64Gi memory in comp/templates/deployment.yaml (no value of the recipe reaches its resources)", "memory: comp/templates/deployment.yaml; no value"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e := explainPod(tc.pod, &w, &observe.View{Nodes: zoned()})
			testkit.WantEach(t, "edits and sources", append(slices.Clone(e.Edits), e.Sources...), tc.want)
		})
	}
}

// A template's requests count even if the API server has not derived requests from limits yet.
// An edit that makes room for some of the pods with a host port is none.
func TestHostPortsNeedNodes(t *testing.T) {
	for waiting, want := range map[int]int{1: 1, 2: 1, 3: 0} {
		var pods []observe.PodFacts
		view := &observe.View{Nodes: zoned(), Volumes: testVolumes()}
		for i := range view.Nodes {
			if view.Nodes[i].Labels[bundle.NodeTypeLabel] == "accelerated" {
				view.Nodes[i].Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}}
				continue
			}
			view.Pods = append(view.Pods, otherPod("has-"+view.Nodes[i].Name, view.Nodes[i].Name, port))
		}
		for i := range waiting {
			p := otherPod(fmt.Sprintf("waits-%d", i), "", port)
			pods = append(pods, observe.PodFacts{Pod: &p, Scheduler: "0/4 nodes are available"})
		}
		if e := explainPods(pods, nil, view); len(e.Edits) != want {
			t.Errorf("%d pods wait: got %q, want %d edits", waiting, e.Edits, want)
		}
	}
}

func TestLimitsOfATemplate(t *testing.T) {
	w := testkit.Expected("Deployment", "d", 1, testkit.Acc)
	w.PodSpec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("9")}}}}
	e := explainPod(templatePod(&w), &w, &observe.View{Nodes: zoned()})
	if got := e.Groups[0].String(); got != "2 accelerated nodes: asks for 9 nvidia.com/gpu, has 8" {
		t.Errorf("got %q", got)
	}
	if len(e.Edits) != 1 || !strings.HasPrefix(e.Edits[0], "ask for at most 8 nvidia.com/gpu") {
		t.Errorf("edits: got %q", e.Edits)
	}
}

// A line that sets a value is named before one that only declares the component, and a place
// without a line is none.
func TestPlaceOfSources(t *testing.T) {
	at := func(line int, set bool) source { return source{result.Place{File: "f.yaml", Line: line}, set} }
	for want, all := range map[int][]source{0: {at(0, true)}, 1: {at(1, false), at(2, false)}, 3: {at(0, true), at(1, false), at(3, true), at(4, true)}} {
		if got := placeOf(all); got.Line != want {
			t.Errorf("%v: got line %d, want %d", all, got.Line, want)
		}
	}
}

// A null that would take an affinity away and does not reach Helm is the line, and what makes it
// arrive is the edit.
func TestLostNull(t *testing.T) {
	w := testkit.Expected("Deployment", "d", 1, testkit.Acc)
	w.Template = "comp/templates/deployment.yaml"
	pod := wanting(func(p *corev1.Pod) {
		s := &p.Spec
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "example.com/none", Operator: corev1.NodeSelectorOpExists}}},
		}}}}
		s.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	w.Values = []bundle.SteeringSource{{Field: bundle.FieldAffinity, Path: "web.affinity", Origin: recipe.Origin{File: "d/application.yaml", Line: 18}, Lost: "add an option in app-of-apps.yaml"}}
	e := explainPod(pod, &w, &observe.View{Nodes: zoned()})
	testkit.WantEach(t, "edits and sources", append(slices.Clone(e.Edits), e.Sources...), []string{
		"add an option in app-of-apps.yaml",
		"node affinity: value path web.affinity, set in d/application.yaml:18, where null does not reach Helm",
	})
}

// A missing path of the registry is named, with its entry as the place to edit.
func TestForgottenPath(t *testing.T) {
	w := testkit.Expected("Deployment", "d", 1, testkit.Acc)
	w.Template = "comp/templates/deployment.yaml"
	pod := wanting(selecting(bundle.NodeTypeLabel, "accelerated"), tolerating())
	plain := explainPod(pod, &w, &observe.View{Nodes: zoned()})
	testkit.WantEach(t, "without the path", append(slices.Clone(plain.Edits), plain.Sources...), []string{
		"let AICR set its tolerations by a value that the tolerationPaths of component comp name, in comp/templates/deployment.yaml (no value of the recipe reaches its tolerations)",
		"tolerations: comp/templates/deployment.yaml; no value of the recipe and no path of the registry reaches it",
	})
	w.ForgottenPaths = []bundle.ValuePath{{Path: "web.tolerations", Node: testkit.Acc, Origin: recipe.Origin{File: "recipes/registry.yaml", Line: 12}}}
	e := explainPod(pod, &w, &observe.View{Nodes: zoned()})
	testkit.WantEach(t, "edits and sources", append(slices.Clone(e.Edits), e.Sources...), []string{
		"let AICR set its tolerations by naming web.tolerations in the tolerationPaths of component comp in recipes/registry.yaml:12",
		"tolerations: value path web.tolerations brings them, and the tolerationPaths of component comp lack it (recipes/registry.yaml:12)",
	})
	if p := placeOf(e.sources); p != (result.Place{File: "recipes/registry.yaml", Line: 12, Path: "web.tolerations"}) {
		t.Errorf("the place is %+v", p)
	}
}
