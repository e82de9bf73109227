package matrix

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

// withGroups are the runner's profiles, that of EKS with H100 with these groups.
func withGroups(t *testing.T, r *Runner, groups string) {
	t.Helper()
	shipped, err := kwok.Files.ReadFile("profiles/eks-h100.yaml")
	if err != nil {
		t.Fatal(err)
	}
	grown := strings.TrimSpace(string(shipped)) + "\n  groups:\n" + groups
	if r.Profiles, err = simulate.LayerProfiles(r.Profiles, fstest.MapFS{"grown.yaml": {Data: []byte(grown)}}, "profiles"); err != nil {
		t.Fatal(err)
	}
}

// A recipe whose profile has groups needs Karpenter, and others do not; one that brings Karpenter's own definitions is
// refused.
func TestGroupsOfPlans(t *testing.T) {
	r := unitRunner(t)
	before := plansOf(t, r, "eks-training", deployers(t, bundle.Helm)...)
	if got := ControllersFor(before); len(got) > 0 {
		t.Errorf("without groups: got %q", got)
	}
	withGroups(t, r, "    - {name: whole, min: 1, max: 3}\n    - {name: full, min: 2, max: 2}\n")
	plans := plansOf(t, r, "eks-training", deployers(t, bundle.Helm)...)
	if got := ControllersFor(plans); !slices.Equal(got, []infra.ControllerKind{infra.KarpenterProgram}) {
		t.Errorf("got %q", got)
	}
	if sets := r.ControllerSets(plans, 1); len(sets) != 1 || !slices.Equal(sets[0], []infra.ControllerKind{infra.KarpenterProgram}) {
		t.Errorf("what is to be compiled first: got %q", sets)
	}
	if got := probeValues(plans[0].nodes); got.Nodes != 5 || got.GPUs != 40 {
		t.Errorf("probes may use what can be made: got %+v", got)
	}
	object := func(kind, version, name string) []bundle.Object {
		return []bundle.Object{{Component: "own", Object: &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name}}}}}
	}
	for _, own := range [][]bundle.Object{
		object("CustomResourceDefinition", "apiextensions.k8s.io/v1", "nodepools.karpenter.sh"), object("NodePool", "karpenter.sh/v1", "a"), object("KWOKNodeClass", "karpenter.kwok.sh/v1alpha1", "a"),
	} {
		err := checkGroups(plans[0].nodes, own)
		if reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "(own), and the node profile has groups (accelerated-whole at profiles/grown.yaml:") || !strings.Contains(err.Error(), "Take a profile without spec.groups") {
			t.Errorf("got %v", err)
		}
		if err := checkGroups(before[0].nodes, own); err != nil {
			t.Errorf("without groups: %v", err)
		}
	}
	if err := checkGroups(plans[0].nodes, object("CustomResourceDefinition", "apiextensions.k8s.io/v1", "ec2nodeclasses.karpenter.k8s.aws")); err != nil {
		t.Error(err)
	}
}

// The groups of a result have all nodes, those from the start among them, and the pods' workloads.
func TestNodeGroupsOf(t *testing.T) {
	r := unitRunner(t)
	withGroups(t, r, "    - {name: whole, min: 1, max: 3}\n    - {name: full, min: 2, max: 2}\n")
	nodes := plansOf(t, r, "eks-training", deployers(t, bundle.Helm)...)[0].nodes
	growth := &observe.Growth{Claims: []observe.NodeClaim{
		{Name: "a", Group: "accelerated-whole", Node: "a", Pods: []string{"n/p", "n/q"}}, {Name: "b", Group: "accelerated-whole", Pods: []string{"n/lost"}}, {Name: "c", Group: "other", Node: "c"},
	}}
	placement := &result.Placement{Nodes: []result.PlacedNode{{Pods: []result.PodGroup{{Namespace: "m", Workload: "Job j", Pods: []string{"p"}}, {Namespace: "n", Workload: "Deployment d", Component: "c", Pods: []string{"p", "q"}}}}}}
	got := nodeGroupsOf(nodes, growth, placement)
	var lines []string
	for i := range got {
		lines = append(lines, got[i].String())
	}
	if want := []string{
		"accelerated-whole (p5.48xlarge): 2 nodes needed, of 1 to 3; made for n/p (Deployment d) and 1 more, n/lost, and it never came", "accelerated-full (p5.48xlarge): 2 nodes needed, of 2 to 2; none was made",
	}; !slices.Equal(lines, want) {
		t.Errorf("got  %q\nwant %q", lines, want)
	}
	if got[0].Made[0].Component != "c" {
		t.Errorf("got %+v", got[0].Made)
	}
}
