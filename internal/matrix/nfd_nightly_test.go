//go:build nightly

package matrix

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// TestNightlyFeatureDiscovery: Node Feature Discovery's master and gc run for real, beside workers that are simulated:
// a NodeFeature becomes a label of its node, on which a pod of the recipe waits. Without the right to write nodes it is
// red, with what the master says (F351).
func TestNightlyFeatureDiscovery(t *testing.T) {
	t.Parallel()
	const rights = "      - list\n      - patch\n      - update\n      - watch\n"
	for _, c := range []struct{ name, lane, new, screen string }{
		{"passes", bundle.Helm, rights, ""},
		{"passes in Argo CD", bundle.ArgoCDOCI, rights, ""},
		{"no right to write nodes", bundle.Helm, "      - list\n      - watch\n", "forbidden"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			r := realOperators(t)
			r.Store = storeOf(t, map[string]string{
				"registry.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: ComponentRegistry
components:
  - name: node-feature-discovery
    helm: {defaultRepository: "https://charts.example.com", defaultChart: example/node-feature-discovery, defaultVersion: 0.18.3, defaultNamespace: nfd}
    nodeScheduling:
      system: {tolerationPaths: [master.tolerations, gc.tolerations, worker.tolerations]}
  - name: uses
    manifest: {defaultNamespace: uses}
`,
				"overlays/base.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeMetadata
metadata: {name: base}
spec:
  componentRefs:
    - {name: node-feature-discovery}
    - {name: uses, dependencyRefs: [node-feature-discovery], manifestFiles: [components/uses/manifests/uses.yaml]}
`,
				"overlays/found.yaml": "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: found}\nspec: {criteria: {service: eks, intent: training}}\n",
				"components/uses/manifests/uses.yaml": `
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeature
metadata: {name: ours, labels: {nfd.node.kubernetes.io/node-name: system-0}}
spec: {features: {attributes: {}, flags: {}, instances: {}}, labels: {feature.node.kubernetes.io/tea: "true"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: uses}
spec:
  selector: {matchLabels: {app: uses}}
  template:
    metadata: {labels: {app: uses}}
    spec:
      nodeSelector: {feature.node.kubernetes.io/tea: "true"}
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: "example.com/uses:1"}]
`,
			})
			r.Charts = editedChart(t, "node-feature-discovery", "templates/node-feature-discovery.yaml", rights, c.new)
			res := operatorCell(t, r, "found", c.lane)
			screen := strings.Join(append([]string{res.Cause}, res.Details...), "\n")
			t.Logf("%s %s\n%s\nnotes: %s\nstand-ins: %s", res.Status, res.Reason, screen, strings.Join(res.Notes, "\n"), strings.Join(res.StandIns, "\n"))
			testkit.WantText(t, "notes", strings.Join(res.Notes, "\n"), "operator nfd-master (Deployment nfd/node-feature-discovery-master): real, v0.18.3", "operator nfd-gc (Deployment nfd/node-feature-discovery-gc): real, v0.18.3")
			if c.screen == "" {
				if res.Status != result.Passed {
					t.Errorf("got %s: %s", res.Status, res.Cause)
				}
				return
			}
			if res.Reason != reason.SchedulingFailed {
				t.Errorf("got %s, %s; want %s", res.Status, res.Reason, reason.SchedulingFailed)
			}
			testkit.WantText(t, "first screen", screen, c.screen, "pod nfd/node-feature-discovery-master-")
		})
	}
}
