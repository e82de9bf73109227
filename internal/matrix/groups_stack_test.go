package matrix

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
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
	shipped, err := kwok.Files.ReadFile("profiles/eks-h100.yaml")
	if err != nil {
		t.Fatal(err)
	}
	grown := strings.TrimSpace(string(shipped)) + "\n  groups:\n" + groups
	if r.Profiles, err = simulate.LayerProfiles(r.Profiles, fstest.MapFS{"grown.yaml": {Data: []byte(grown)}}, "profiles"); err != nil {
		t.Fatal(err)
	}
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

// A pod that fits on no node makes one in the group that it fits in, with the profile's labels, taints and
// resources, and the DaemonSet of such nodes comes to it.
func TestNodeGroups(t *testing.T) {
	t.Parallel()
	r := groupRunner(t, "    - {name: whole, max: 3}\n", strings.Replace(gpuWork, "REPLICAS", "2", 1))
	plans := plansOf(t, r, "growing", deployers(t, bundle.Helm)...)
	infratest.Slots(t, 1)
	got := r.Run(t.Context(), plans[0])
	if os.Getenv("SHOW") != "" {
		t.Logf("%+v", got)
	}
	if got.Status != result.Passed {
		t.Fatalf("got %s %s: %s\n%s", got.Status, got.Reason, got.Cause, strings.Join(got.Details, "\n"))
	}
}
