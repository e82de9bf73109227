//go:build nightly

package matrix

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/kwok"
)

// groupRunner runs cells whose accelerated nodes are in these groups, which are YAML of spec.groups.
func groupRunner(t *testing.T, groups string, manifests string) *Runner {
	t.Helper()
	r := stackRunner(t)
	p := embeddedOf(r)
	var err error
	if p.Karpenter, err = stack.NewKarpenter(p.Paths, kwok.KarpenterMod, kwok.KarpenterSum, kwok.KarpenterSources); err != nil {
		t.Fatal(err)
	}
	if err := p.Needs(t.Context(), infra.KarpenterProgram); err != nil {
		t.Fatal(err)
	}
	withGroups(t, r, groups)
	r.Store = growing(t, manifests)
	return r
}

// growing is a recipe whose one component has these manifests.
func growing(t *testing.T, manifests string) *recipe.Store {
	t.Helper()
	return storeOf(t, map[string]string{
		"registry.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: ComponentRegistry
components:
  - name: work
    manifest: {defaultNamespace: work}
`,
		"overlays/base.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeMetadata
metadata: {name: base}
spec:
  componentRefs:
    - {name: work, manifestFiles: [components/work/manifests/work.yaml]}
`,
		"overlays/growing.yaml":               "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: growing}\nspec: {criteria: {service: eks, intent: training, accelerator: h100}}\n",
		"components/work/manifests/work.yaml": manifests,
	})
}

// gpuWork is a Deployment whose pods need GPUs, and a DaemonSet of every node that has some.
const gpuWork = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: trains, namespace: work}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: trains}}
  template:
    metadata: {labels: {app: trains}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: "example.com/trains:1", resources: {limits: {nvidia.com/gpu: "8"}}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: work}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {nvidia.com/gpu.present: "true"}
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: "example.com/agent:1"}]
`

// TestNightlyNodeGroups: a pod that fits on no node makes one in the group that it fits in, with the profile's labels, taints and
// resources, and the DaemonSet of such nodes comes to it. The result says how many were needed, and for which pods.
func TestNightlyNodeGroups(t *testing.T) {
	t.Parallel()
	r := groupRunner(t, "    - {name: whole, max: 3, labels: {pool: whole}}\n", strings.Replace(gpuWork, "REPLICAS", "2", 1))
	plans := plansOf(t, r, "growing", deployers(t, bundle.Helm)...)
	infratest.Slots(t, 1)
	got := r.Run(t.Context(), plans[0])
	if got.Status != result.Passed {
		t.Fatalf("got %s %s: %s\n%s", got.Status, got.Reason, got.Cause, strings.Join(got.Details, "\n"))
	}
	if len(got.NodeGroups) != 1 {
		t.Fatalf("got the groups %+v", got.NodeGroups)
	}
	g := got.NodeGroups[0]
	if g.Name != "accelerated-whole" || g.Instance != "p5.48xlarge" || g.Min != 0 || g.Max != 3 || g.Nodes != 2 || len(g.Made) != 2 {
		t.Fatalf("got %+v", g)
	}
	on := map[string]string{}
	for _, n := range got.Placement.Nodes {
		for _, p := range n.Pods {
			on[n.Name] += p.Workload + ";"
		}
		if strings.HasPrefix(n.Name, g.Name) && (n.GPUs != 8 || n.GPUsTaken != 8 || n.Kind != "accelerated" || n.Instance != "p5.48xlarge" || n.Zone != "us-east-1a" || n.GPUProduct != "NVIDIA-H100-80GB-HBM3") {
			t.Errorf("got the node %+v", n)
		}
	}
	for _, m := range g.Made {
		if !strings.HasPrefix(m.Pod, "work/trains-") || m.Workload != "Deployment trains" || m.Component != "work" || m.Further != 0 {
			t.Errorf("got %+v", m)
		}
		if on[m.Node] != "DaemonSet agent;Deployment trains;" {
			t.Errorf("on node %s: got %q", m.Node, on[m.Node])
		}
	}
	if lines := got.Remarks("nodeGroups"); len(lines) != 1 || !strings.HasPrefix(lines[0], "accelerated-whole (p5.48xlarge): 2 nodes needed, of 0 to 3; made for work/trains-") {
		t.Errorf("got %q", lines)
	}
}

// TestNightlyNodeGroups_Refused: a pod that fits in a group is red if the group has as many nodes as it may, and one that fits in none by what is in the
// way there.
func TestNightlyNodeGroups_Refused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		replicas, selector string
		want               []string
	}{
		"max": {"2", "", []string{
			"Deployment work/trains (work): 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "a further node of group accelerated-whole (p5.48xlarge) refuses by max of 1",
			"the group has its max of 1 node (profiles/grown.yaml:", "Karpenter makes no node for it: Failed to schedule pod", "node limits have been exhausted for nodepool", "raise the max of 1 of group accelerated-whole in profiles/grown.yaml:",
		}},
		"constraint": {"1", "nodeSelector: {pool: other}", []string{
			"a further node of group accelerated-whole (p5.48xlarge) refuses by nodeSelector pool", "nodeSelector pool=other (has whole)", "Karpenter makes no node for it: Failed to schedule pod", `incompatible requirements, key pool, pool In [other] not in pool In [whole]`,
			"change `pool: other` to `pool: whole`",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manifests := strings.Replace(gpuWork, "REPLICAS", tt.replicas, 1)
			if tt.selector != "" {
				manifests = strings.Replace(manifests, "      tolerations:", "      "+tt.selector+"\n      tolerations:", 1)
			}
			r := groupRunner(t, "    - {name: whole, max: 1, labels: {pool: whole}}\n", manifests)
			plans := plansOf(t, r, "growing", deployers(t, bundle.Helm)...)
			infratest.Slots(t, 1)
			got := r.Run(t.Context(), plans[0])
			said := got.Cause + "\n" + strings.Join(got.Details, "\n")
			if got.Reason != reason.SchedulingFailed {
				t.Errorf("got %s %s", got.Status, got.Reason)
			}
			for _, want := range tt.want {
				if !strings.Contains(said, want) {
					t.Errorf("want %q", want)
				}
			}
		})
	}
}

// TestNightlyNodeGroups_Killed: Karpenter's end is that of the cell, as with every program of the stack.
func TestNightlyNodeGroups_Killed(t *testing.T) {
	t.Parallel()
	r := groupRunner(t, "    - {name: whole, max: 3}\n", strings.Replace(gpuWork, "REPLICAS", "2", 1))
	plan := plansOf(t, r, "growing", deployers(t, bundle.Helm)...)[0]
	infratest.Slots(t, 1)
	name := string(infra.KarpenterProgram)
	got := r.runLane(t.Context(), plan, seededLane{NewLane(plan.Deployer), seed{deployed: kill(name)}, nil}).Result
	if got.Reason != reason.ComponentDied || got.Component != name || !strings.Contains(got.Cause, name+" ended unexpectedly (signal: killed)") {
		t.Errorf("got %s, component %q: %s", got.Reason, got.Component, got.Cause)
	}
}

// TestNightlyNodeGroups_Kept: of a cluster that a run has kept, why says of a pod that waits for a group what the cell said, and its
// nodes can be deleted, though Karpenter has ended.
func TestNightlyNodeGroups_Kept(t *testing.T) {
	t.Parallel()
	r := groupRunner(t, "    - {name: whole, max: 1, labels: {pool: whole}}\n", strings.Replace(gpuWork, "REPLICAS", "2", 1))
	r.Keep = true
	plans := plansOf(t, r, "growing", deployers(t, bundle.Helm)...)
	infratest.Slots(t, 1)
	got := r.Run(t.Context(), plans[0])
	if got.Reason != reason.SchedulingFailed || got.Kubeconfig == "" {
		t.Fatalf("got %s %s, kubeconfig %q", got.Status, got.Reason, got.Kubeconfig)
	}
	t.Cleanup(func() {
		state, err := embedded.FindCluster(embeddedOf(r).Paths, filepath.Base(filepath.Dir(got.Kubeconfig)))
		if err == nil {
			err = state.Remove()
		}
		if err != nil {
			t.Error(err)
		}
	})
	clients, err := infra.NewClients(got.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := embedded.Attachment(got.Kubeconfig, why.ProvenanceFile)
	if err != nil {
		t.Fatal(err)
	}
	known, err := why.ReadProvenance(raw)
	if err != nil {
		t.Fatal(err)
	}
	all, err := why.Why(t.Context(), clients, &known, "work/deployment/trains")
	if err != nil || len(all) != 2 {
		t.Fatalf("got %d explanations, %v", len(all), err)
	}
	said := strings.Join(slices.Concat(all[0].Notes, all[0].Edits), "\n")
	for _, g := range all[0].Groups {
		said += "\n" + g.String()
	}
	for _, want := range []string{"Karpenter makes no node for it: Failed to schedule pod", "the group has its max of 1 node (profiles/grown.yaml:", "raise the max of 1 of group accelerated-whole in profiles/grown.yaml:", "no node is made any more: Karpenter ended"} {
		if !strings.Contains(said, want) {
			t.Errorf("want %q in\n%s", want, said)
		}
	}
	made := all[1].On[0]
	if err := clients.Kube.CoreV1().Nodes().Delete(t.Context(), made, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if node, err := clients.Kube.CoreV1().Nodes().Get(t.Context(), made, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("node %s is still there, with the finalizers %q: %v", made, node.GetFinalizers(), err)
	}
}
