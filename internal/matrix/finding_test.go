package matrix

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// A person must learn from it which pods, what the scheduler says, which selector, and which file on which line to mend (F05).
func TestSchedulingFinding(t *testing.T) {
	path := func(path, file string, line int, set bool) []bundle.ValuePath {
		return []bundle.ValuePath{{Path: path, Node: sys, Origin: recipe.Origin{File: file, Line: line}, Set: set}}
	}
	steered := func(name string, selector map[string]string) *bundle.Workload {
		w := expected("Deployment", name, 2, sys)
		w.PodSpec.NodeSelector = selector
		w.SelectorPaths = path("web.nodeSelector", "recipes/components/comp/values.yaml", 7, true)
		w.TolerationPaths = path("web.tolerations", "recipes/overlays/base.yaml", 12, false)
		return &w
	}
	ssd := steered("d", map[string]string{"disktype": "ssd"})
	hungry := steered("hungry", nil)
	hungry.PodSpec.Containers = []corev1.Container{
		{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("300"), "memory": resource.MustParse("1Gi")}, Limits: corev1.ResourceList{"cpu": resource.MustParse("400")}}},
		{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("500m")}, Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("16")}}},
	}
	bare := expected("DaemonSet", "ds", -1, acc)

	const (
		selector = "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector."
		both     = "0/4 nodes are available: 2 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector."
		taint    = "0/4 nodes are available: 4 node(s) had untolerated taint {nvidia.com/gpu: present}."
		greedy   = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."
	)
	tests := map[string]struct {
		report workloadReport
		cause  string
		want   []string
		not    []string
	}{
		"selector": {
			workloadReport{pending: []pendingPod{{ssd, "ns/d-1", selector}, {ssd, "ns/d-2", selector}}}, "Deployment ns/d (comp): " + selector,
			[]string{"pods: ns/d-1, ns/d-2", "nodeSelector disktype=ssd matches 0 of 4 nodes", "selector: value path web.nodeSelector, set in recipes/components/comp/values.yaml:7"},
			[]string{"and 1 more", "tolerations:"},
		},
		"selector and taints: the selector decides": {
			workloadReport{pending: []pendingPod{{ssd, "ns/d-1", both}}}, "Deployment ns/d (comp): " + both, []string{"selector: value path web.nodeSelector"}, []string{"tolerations: value path"},
		},
		"taints": {
			workloadReport{pending: []pendingPod{{ssd, "ns/d-1", taint}}}, "Deployment ns/d (comp): " + taint,
			[]string{"tolerations: value path web.tolerations, set by the harness only (component declared in recipes/overlays/base.yaml:12)"}, []string{"selector: value path"},
		},
		"more than a node has": {
			workloadReport{pending: []pendingPod{{hungry, "ns/hungry-1", greedy}}}, "Deployment ns/hungry (comp): " + greedy,
			[]string{"it asks for more than those nodes have left: cpu=300500m, memory=1Gi, nvidia.com/gpu=16"}, []string{"value path"},
		},
		"no value path reaches it": {
			workloadReport{wrong: []wrongWorkload{{&bare, "no node admits its pods"}}}, "DaemonSet ns/ds (comp): no node admits its pods",
			[]string{"selector: no value path of the registry reaches comp/templates/daemonset.yaml"}, []string{"pods:"},
		},
		"two workloads": {
			workloadReport{pending: []pendingPod{{ssd, "ns/d-1", selector}}, wrong: []wrongWorkload{{&bare, "no node admits its pods"}}}, "Deployment ns/d (comp): " + selector + " (and 1 more)",
			[]string{"DaemonSet ns/ds (comp): no node admits its pods"}, nil,
		},
		"one workload, two sentences": {
			workloadReport{pending: []pendingPod{{ssd, "ns/d-1", selector}, {ssd, "ns/d-2", greedy}}}, "Deployment ns/d (comp): " + selector + " (and 1 more)", []string{"pods: ns/d-1", "pods: ns/d-2"}, nil,
		},
		"many pods": {
			workloadReport{pending: []pendingPod{{ssd, "ns/d-1", selector}, {ssd, "ns/d-2", selector}, {ssd, "ns/d-3", selector}, {ssd, "ns/d-4", selector}, {ssd, "ns/d-5", selector}, {ssd, "ns/d-6", selector}}},
			"Deployment ns/d (comp): " + selector, []string{"pods: ns/d-1, ns/d-2, ns/d-3, ns/d-4, and 2 more"}, []string{"ns/d-5"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := schedulingFinding(tc.report, nodeList(testNodes()))
			if f.cause != tc.cause {
				t.Errorf("cause: got %q, want %q", f.cause, tc.cause)
			}
			details := strings.Join(f.details, "\n")
			wantText(t, "details", details, tc.want...)
			for _, part := range tc.not {
				if strings.Contains(details, part) {
					t.Errorf("details: do not want %q in:\n%s", part, details)
				}
			}
		})
	}
}

// The scheduler repeats itself for preemption and resource claims; a person reads its sentence once.
func TestRefusedByScheduler(t *testing.T) {
	tests := map[string]struct {
		pod  *corev1.Pod
		want string
		ok   bool
	}{
		"plain":        {pod("p", "", "", "", refused("0/4 nodes are available: 4 Insufficient cpu.")), "0/4 nodes are available: 4 Insufficient cpu.", true},
		"preemption":   {pod("p", "", "", "", refused("0/4 nodes are available: 4 Insufficient cpu. preemption: 0/4 nodes are available: 4 none.")), "0/4 nodes are available: 4 Insufficient cpu.", true},
		"claims":       {pod("p", "", "", "", refused("0/4 nodes are available: 4 Insufficient cpu, no new claims to deallocate, preemption: x")), "0/4 nodes are available: 4 Insufficient cpu", true},
		"not yet":      {pod("p", "", "", "", phase(corev1.PodPending)), "", false},
		"gated":        {pod("p", "", "", "", refused("gated"), func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }), "", false},
		"not any more": {pod("p", "", "", "", refused("x"), func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue }), "", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got, ok := refusedByScheduler(tc.pod); got != tc.want || ok != tc.ok {
				t.Errorf("got %q, %v; want %q, %v", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestAtMost(t *testing.T) {
	in := []string{"a", "b", "c"}
	if got := atMost(in, 3); !slices.Equal(got, in) {
		t.Errorf("three of at most three: got %q", got)
	}
	if got := atMost(in, 2); !slices.Equal(got, []string{"a", "b", "and 1 more"}) {
		t.Errorf("three of at most two: got %q", got)
	}
	if !slices.Equal(in, []string{"a", "b", "c"}) {
		t.Errorf("the caller's list was changed: %q", in)
	}
}
