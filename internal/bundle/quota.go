package bundle

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// criticalQuota is what AICR's bundler adds since July for a component whose pods have a system
// priority (gkeCriticalPriority in the registry, AICR's issue 915): GKE admits such pods only in a
// namespace with a ResourceQuota for their priority. It allows 32 pods a node, and at least 32.
func criticalQuota(in Input, c *recipe.Component) []recipe.Manifest {
	if !c.GKECriticalPriority || in.Recipe.Criteria.Service != "gke" || document.GenerationOf(in.Recipe.APIVersion) == recipe.March {
		return nil
	}
	const name = "aicr-gke-critical-pods"
	content := fmt.Sprintf(`apiVersion: v1
kind: ResourceQuota
metadata:
  name: %s
  namespace: %s
spec:
  hard:
    pods: "%d"
  scopeSelector:
    matchExpressions:
    - scopeName: PriorityClass
      operator: In
      values: [system-node-critical, system-cluster-critical]
`, name, namespace(c), max(32, 32*in.Recipe.Criteria.Nodes))
	return []recipe.Manifest{{Path: name + ".yaml", File: c.Registered.String(), Content: []byte(content)}}
}
