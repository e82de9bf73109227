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
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// A person must learn from it which pods, what the scheduler says, which selector, and which file
// on which line to fix (F05).
func TestSchedulingFinding(t *testing.T) {
	path := func(path, file string, line int, set bool) []bundle.ValuePath {
		return []bundle.ValuePath{{Path: path, Node: testkit.Sys, Origin: recipe.Origin{File: file, Line: line}, Set: set}}
	}
	steered := func(name string, selector map[string]string) *bundle.Workload {
		w := testkit.Expected("Deployment", name, 2, testkit.Sys)
		w.PodSpec.NodeSelector = selector
		w.SelectorPaths = path("web.nodeSelector", "recipes/components/comp/values.yaml", 7, true)
		w.TolerationPaths = path("web.tolerations", "recipes/overlays/base.yaml", 12, false)
		return &w
	}
	ssd := steered("d", map[string]string{bundle.NodeTypeLabel: "system", "disktype": "ssd"})
	ssd.Values = []bundle.SteeringSource{{Field: bundle.FieldNodeSelector, Key: "disktype", Path: "web.nodeSelector.disktype", Origin: recipe.Origin{File: "recipes/components/comp/values.yaml", Line: 8}}}
	twin := *ssd
	twin.Name = "twin"
	shy := steered("shy", map[string]string{bundle.NodeTypeLabel: "accelerated"})
	shy.Node, shy.PodSpec.Tolerations = testkit.Acc, bundle.KwokScheduling().SystemTolerations
	hungry := steered("hungry", nil)
	hungry.PodSpec.Containers = []corev1.Container{
		{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("16"), "memory": resource.MustParse("1Gi")}}},
		{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("500m")}}},
	}
	hungry.Values = []bundle.SteeringSource{{Field: bundle.FieldRequests, Key: "cpu", Path: "web.resources.requests.cpu", Origin: recipe.Origin{File: "values.yaml", Line: 3}}}
	bare := testkit.Expected("DaemonSet", "ds", -1, testkit.Acc)
	bare.PodSpec.NodeSelector["gpu"] = "h100"

	const (
		selector = "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector."
		both     = "0/4 nodes are available: 2 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector."
		taint    = "0/4 nodes are available: 4 node(s) had untolerated taint {nvidia.com/gpu: present}."
		greedy   = "0/4 nodes are available: 4 Insufficient cpu."
	)
	p := func(w *bundle.Workload, name, message string) observe.PendingPod {
		return observe.PendingPod{Workload: w, PodFacts: observe.FactsOf(testkit.Pod(name, "", "", "", testkit.Refused(message), func(p *corev1.Pod) { p.Spec = w.PodSpec })), Message: message}
	}
	tests := map[string]findingCase{
		"selector": {
			observe.WorkloadReport{Pending: []observe.PendingPod{p(ssd, "d-1", selector), p(ssd, "d-2", selector)}}, "Deployment ns/d (comp): " + selector,
			[]string{
				"  pods: ns/d-1, ns/d-2", "  2 system nodes: nodeSelector disktype=ssd (no such label)",
				"  2 accelerated nodes: nodeSelector aicr.nvidia.com/node-type=system (has accelerated); nodeSelector disktype=ssd (no such label)",
				"  nodeSelector disktype=ssd: value path web.nodeSelector.disktype, set in recipes/components/comp/values.yaml:8",
				"  edit: remove `disktype: ssd` at web.nodeSelector.disktype in recipes/components/comp/values.yaml:8",
			},
			[]string{"and 1 more", "tolerations:"},
			"Deployment ns/d (comp): recipes/components/comp/values.yaml:8 web.nodeSelector.disktype",
		},
		"selector and taints: the selector of its own kind of node decides": {
			observe.WorkloadReport{Pending: []observe.PendingPod{p(ssd, "d-1", both)}}, "Deployment ns/d (comp): " + both, []string{"nodeSelector disktype=ssd: value path"}, []string{"tolerations: value path"},
			"Deployment ns/d (comp): recipes/components/comp/values.yaml:8 web.nodeSelector.disktype",
		},
		"taints": {
			observe.WorkloadReport{Pending: []observe.PendingPod{p(shy, "shy-1", taint)}}, "Deployment ns/shy (comp): " + taint,
			[]string{
				"  2 accelerated nodes: taint nvidia.com/gpu=present:NoSchedule not tolerated",
				"  tolerations: value path web.tolerations, set by the harness only (component declared in recipes/overlays/base.yaml:12)",
				"  edit: add a toleration for nvidia.com/gpu=present:NoSchedule at web.tolerations of component comp (declared in recipes/overlays/base.yaml:12)",
			}, []string{"nodeSelector disktype"},
			"Deployment ns/shy (comp): recipes/overlays/base.yaml:12 web.tolerations",
		},
		"more than a node has": {
			observe.WorkloadReport{Pending: []observe.PendingPod{p(hungry, "hungry-1", greedy)}}, "Deployment ns/hungry (comp): " + greedy,
			[]string{"  2 system nodes: asks for 16500m cpu, has 16", "  cpu: value path web.resources.requests.cpu, set in values.yaml:3", "  edit: ask for at most 16 cpu at web.resources.requests.cpu in values.yaml:3"}, nil,
			"Deployment ns/hungry (comp): values.yaml:3 web.resources.requests.cpu",
		},
		"no value path reaches it": {
			observe.WorkloadReport{Wrong: []observe.WrongWorkload{{Workload: &bare, Text: "no node admits its pods", Template: true}}},
			"DaemonSet ns/ds (comp): no node admits its pods: 2 accelerated nodes refuse by nodeSelector gpu, 2 system nodes refuse by nodeSelector aicr.nvidia.com/node-type and nodeSelector gpu",
			[]string{
				"  2 accelerated nodes: nodeSelector gpu=h100 (no such label)", "  nodeSelector gpu=h100: comp/templates/daemonset.yaml; no value of the recipe and no path of the registry reaches it",
				"  edit: remove `gpu: h100` in comp/templates/daemonset.yaml (no value of the recipe reaches its selector)",
			}, []string{"  pods: "},
			"DaemonSet ns/ds (comp):  ",
		},
		"a pod on the wrong node": {
			observe.WorkloadReport{Wrong: []observe.WrongWorkload{{Workload: ssd, Text: "pod ns/d-1 is on node a0", Node: true}}}, "Deployment ns/d (comp): pod ns/d-1 is on node a0",
			[]string{"  selector: value path web.nodeSelector, set in recipes/components/comp/values.yaml:7"}, []string{"nodes:"},
			"Deployment ns/d (comp): recipes/components/comp/values.yaml:7 web.nodeSelector",
		},
		"one value, two workloads: the story is told once": {
			observe.WorkloadReport{Pending: []observe.PendingPod{p(ssd, "d-1", selector), p(&twin, "twin-1", selector)}}, "Deployment ns/d (comp): " + selector + " (and 1 more)",
			[]string{"Deployment ns/twin (comp): " + selector + "\n  pods: ns/twin-1\n  for the same reasons as Deployment ns/d"}, nil,
			"Deployment ns/d (comp): recipes/components/comp/values.yaml:8 web.nodeSelector.disktype\nDeployment ns/twin (comp): recipes/components/comp/values.yaml:8 web.nodeSelector.disktype, as Deployment ns/d",
		},
		"two workloads": {
			observe.WorkloadReport{Pending: []observe.PendingPod{p(ssd, "d-1", selector)}, Wrong: []observe.WrongWorkload{{Workload: &bare, Text: "no node admits its pods", Template: true}}}, "Deployment ns/d (comp): " + selector + " (and 1 more)",
			[]string{"DaemonSet ns/ds (comp): no node admits its pods: "}, nil,
			"Deployment ns/d (comp): recipes/components/comp/values.yaml:8 web.nodeSelector.disktype\nDaemonSet ns/ds (comp):  ",
		},
		"one workload, two sentences": {
			observe.WorkloadReport{Pending: []observe.PendingPod{p(ssd, "d-1", selector), p(ssd, "d-2", greedy)}}, "Deployment ns/d (comp): " + selector + " (and 1 more)", []string{"pods: ns/d-1", "pods: ns/d-2"}, nil,
			"Deployment ns/d (comp): recipes/components/comp/values.yaml:8 web.nodeSelector.disktype\nDeployment ns/d (comp): ",
		},
		"many pods": {
			observe.WorkloadReport{Pending: []observe.PendingPod{p(ssd, "d-1", selector), p(ssd, "d-2", selector), p(ssd, "d-3", selector), p(ssd, "d-4", selector), p(ssd, "d-5", selector), p(ssd, "d-6", selector)}},
			"Deployment ns/d (comp): " + selector, []string{"pods: ns/d-1, ns/d-2, ns/d-3, ns/d-4, and 2 more"}, []string{"ns/d-5"},
			"Deployment ns/d (comp): recipes/components/comp/values.yaml:8 web.nodeSelector.disktype",
		},
	}
	for name, tc := range tests {
		t.Run(name, tc.check)
	}
}

// findingCase is what the gate saw, and what is said about it.
type findingCase struct {
	report observe.WorkloadReport
	cause  string
	want   []string
	not    []string
	fields string // per finding: object, place, value path, what it is the same as
}

func (tc findingCase) check(t *testing.T) {
	f := SchedulingFinding(nil, tc.report, &observe.View{Nodes: testkit.NodeList(testkit.TestNodes())})
	if f.Cause() != tc.cause {
		t.Errorf("cause: got %q, want %q", f.Cause(), tc.cause)
	}
	var fields []string
	for _, found := range f.Findings {
		line := fmt.Sprintf("%s (%s): %s %s", found.Object, found.Component, found.Place, found.Place.Path)
		if found.SameAs != nil {
			line += ", as " + found.SameAs.String()
		}
		fields = append(fields, line)
	}
	testkit.WantText(t, "fields", strings.Join(fields, "\n"), tc.fields)
	details := strings.Join(f.Details(), "\n")
	testkit.WantText(t, "details", details, tc.want...)
	for _, part := range tc.not {
		if strings.Contains(details, part) {
			t.Errorf("details: do not want %q in:\n%s", part, details)
		}
	}
}

func TestAtMost(t *testing.T) {
	in := []string{"a", "b", "c"}
	if got := lists.AtMost(in, 3); !slices.Equal(got, in) {
		t.Errorf("three of at most three: got %q", got)
	}
	if got := lists.AtMost(in, 2); !slices.Equal(got, []string{"a", "b", "and 1 more"}) {
		t.Errorf("three of at most two: got %q", got)
	}
	if !slices.Equal(in, []string{"a", "b", "c"}) {
		t.Errorf("the caller's list was changed: %q", in)
	}
}
