package why

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// askable is a cluster with a Deployment of which two pods cannot be scheduled and one runs, a
// DaemonSet on all nodes, a DaemonSet without pods, and a pod without an owner.
func askable() []runtime.Object {
	on := func(name, node string) *corev1.Pod {
		return testkit.Pod(name, "DaemonSet", "agent", node, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			preferring(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}})(p)
		})
	}
	lost := func(p *corev1.Pod) { p.Spec = *wanting(selecting("disktype", "ssd")).Spec.DeepCopy() }
	const message = "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector."
	return testkit.Objects(testkit.TestNodes(), testkit.Deployment("web"), testkit.List(
		testkit.Pod("web-6f5b9-aaaaa", "ReplicaSet", "web", "", testkit.Refused(message), lost),
		testkit.Pod("web-6f5b9-bbbbb", "ReplicaSet", "web", "", testkit.Refused(message), lost),
		testkit.Pod("web-6f5b9-ccccc", "ReplicaSet", "web", "s0", func(p *corev1.Pod) { p.Spec.Tolerations = bundle.KwokScheduling().SystemTolerations }),
		testkit.DaemonSet("agent"), on("agent-1", "s0"), on("agent-2", "s1"), on("agent-3", "a0"), on("agent-4", "a1"),
		testkit.DaemonSet("nowhere"), testkit.DaemonSet("unknown"), testkit.Pod("alone", "", "", "s1"),
	))
}

func TestWhy(t *testing.T) {
	web := testkit.Expected("Deployment", "web", 3, bundle.NodeAny)
	web.Values = []bundle.SteeringSource{{Field: bundle.FieldNodeSelector, Key: "disktype", Path: "nodeSelector.disktype", Origin: recipe.Origin{File: "values.yaml", Line: 4}}}
	nowhere := testkit.Expected("DaemonSet", "nowhere", -1, testkit.Acc)
	nowhere.PodSpec.NodeSelector["disktype"] = "ssd"
	workloads := []bundle.Workload{web, nowhere}
	tests := map[string]struct {
		name string
		want []string // a line for each explanation, a part of it
	}{
		"a pod":                  {"ns/web-6f5b9-aaaaa", []string{"pod ns/web-6f5b9-aaaaa of Deployment ns/web (comp) | 2 accelerated nodes: nodeSelector disktype=ssd (no such label) | 2 system nodes: nodeSelector disktype=ssd (no such label) | nodeSelector disktype=ssd: value path nodeSelector.disktype, set in values.yaml:4 | edit: change `disktype: ssd`"}},
		"a pod that runs":        {"ns/web-6f5b9-ccccc", []string{"pod ns/web-6f5b9-ccccc of Deployment ns/web (comp) on s0 | 2 system nodes: fits | 2 accelerated nodes: taint nvidia.com/gpu=present:NoSchedule not tolerated"}},
		"a pod of nobody":        {"ns/alone", []string{"pod ns/alone on s1 | 2 system nodes: taint"}},
		"a workload, pods alike": {"ns/deployment/web", []string{"pod ns/web-6f5b9-aaaaa and 1 more of Deployment ns/web (comp) | ", "pod ns/web-6f5b9-ccccc of Deployment ns/web (comp) on s0 | "}},
		"short name, any case":   {"ns/Deploy/web", []string{"pod ns/web-6f5b9-aaaaa and 1 more", "pod ns/web-6f5b9-ccccc"}},
		"a DaemonSet":            {"ns/daemonsets/agent", []string{"pod ns/agent-1 and 3 more of DaemonSet ns/agent on s0, s1, a0, a1 | 2 accelerated nodes: fits | 2 system nodes: fits"}},
		"a DaemonSet that no node admits": {"ns/ds/nowhere", []string{"pods of DaemonSet ns/nowhere (comp) | 2 accelerated nodes: nodeSelector disktype=ssd (no such label) | 2 system nodes: nodeSelector aicr.nvidia.com/node-type=accelerated (has system); nodeSelector disktype=ssd (no such label) | " +
			"nodeSelector disktype=ssd: comp/templates/daemonset.yaml; no value of the recipe and no path of the registry reaches it | edit: remove `disktype: ssd`"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			all, err := Why(t.Context(), &infra.Clients{Kube: fake.NewClientset(askable()...)}, &Provenance{Workloads: workloads}, tc.name)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range all {
				e := &all[i]
				line := e.Subject()
				if len(e.On) > 0 {
					line += " on " + strings.Join(e.On, ", ")
				}
				got = append(got, strings.Join(append([]string{line}, e.lines()...), " | "))
			}
			testkit.WantEach(t, "explanations", got, tc.want)
		})
	}
}

func TestWhy_UnknownNames(t *testing.T) {
	tests := map[string]struct{ name, want string }{
		"one part":            {"web", "want NAMESPACE/POD"},
		"an empty part":       {"ns/", "want NAMESPACE/POD"},
		"too many":            {"a/b/c/d", "want NAMESPACE/POD"},
		"a part of a name":    {"ns/web", "the cluster has no pod ns/web; did you mean ns/web-6f5b9-aaaaa, ns/web-6f5b9-bbbbb, ns/web-6f5b9-ccccc?"},
		"a typing error":      {"ns/alnoe", "did you mean ns/alone?"},
		"another namespace":   {"nx/alone", "did you mean ns/alone?"},
		"nothing near":        {"ns/qqqqqqqqqqqqqqqqq", "in ns there are: ns/agent-1, "},
		"no such namespace":   {"elsewhere/qqqqqqqqq", "namespaces with pods: ns"},
		"kind":                {"ns/gadget/web", `kind "gadget": want Deployment`},
		"workload":            {"ns/deployment/wbe", "the cluster has no Deployment ns/wbe; did you mean ns/web?"},
		"a workload, no pods": {"ns/ds/unknown", "DaemonSet ns/unknown has no pods to explain"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Why(t.Context(), &infra.Clients{Kube: fake.NewClientset(askable()...)}, &Provenance{}, tc.name)
			if reason.Of(err) != reason.Usage {
				t.Fatalf("got %v, want a usage error", err)
			}
			testkit.WantText(t, "error", err.Error(), tc.want)
		})
	}
}

// A read error is the cluster's failure, never an explanation with less in it.
func TestWhy_NoAnswer(t *testing.T) {
	for _, resource := range []string{"pods", "persistentvolumeclaims", "namespaces", "storageclasses", "persistentvolumes"} {
		kube := fake.NewClientset(askable()...)
		kube.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
		})
		if _, err := Why(t.Context(), &infra.Clients{Kube: kube}, &Provenance{}, "ns/alone"); reason.Of(err) != reason.ClusterFailed {
			t.Errorf("%s: got %v, want CLUSTER_FAILED", resource, err)
		}
	}
}

func TestProvenance(t *testing.T) {
	w := testkit.Expected("Deployment", "web", 1, testkit.Sys)
	w.PodSpec.Containers = wanting(requests("cpu", "100m")).Spec.Containers
	w.SelectorPaths = []bundle.ValuePath{{Path: "a.b", Node: testkit.Sys, Origin: recipe.Origin{File: "f", Line: 3}, Set: true}}
	w.Values = []bundle.SteeringSource{{Field: bundle.FieldRequests, Key: "cpu", Path: "x.cpu", Origin: recipe.Origin{File: "f", Line: 9}}}
	raw, err := Provenance{Cell: result.Cell{Recipe: "r", Deployer: "helm"}, Workloads: []bundle.Workload{w}, Groups: []infra.NodeGroup{{Name: "accelerated-a", Most: 1, Max: 3, Origin: "p.yaml:7", Node: &testkit.NodeList(testkit.TestNodes())[3]}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	p, err := ReadProvenance(raw)
	if err != nil || p.Cell.String() != "r/helm" || len(p.Workloads) != 1 || len(p.Groups) != 1 || p.Groups[0].Name != "accelerated-a" || p.Groups[0].Most != 1 || p.Groups[0].Node.Name == "" {
		t.Fatalf("got %+v, %v", p, err)
	}
	got := p.Workloads[0]
	if !slices.Equal(got.Values, w.Values) || !slices.Equal(got.SelectorPaths, w.SelectorPaths) || got.PodSpec.Containers[0].Resources.Requests.Cpu().String() != "100m" {
		t.Errorf("got %+v", got)
	}
}
