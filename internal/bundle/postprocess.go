package bundle

// postprocess.go has what AICR's bundler does with a component's manifests since July 2026. It must not
// know which deployer delivers them.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

var (
	hookLine       = regexp.MustCompile(`^\s*["']?helm\.sh/hook["']?\s*:\s*["']?([a-z, -]*?)["']?\s*(#.*)?$`)
	hookDetailLine = regexp.MustCompile(`^\s*["']?helm\.sh/hook-(weight|delete-policy|output-log-policy)["']?\s*:`)
)

// withoutHooks makes ordinary objects of the hooks in a component's manifests, as AICR's bundler does
// since July: the release has them in its own place, so that they need no hook to come in time. What
// runs when a release is deleted stays a hook. Lines keep their numbers.
func withoutHooks(r *recipe.Result, manifests []recipe.Manifest) []recipe.Manifest {
	if document.GenerationOf(r.APIVersion) == recipe.March {
		return manifests
	}
	made := slices.Clone(manifests)
	for i, m := range made {
		made[i].Content = []byte(stripHooks(string(m.Content)))
	}
	return made
}

func stripHooks(text string) string {
	lines := strings.Split(text, "\n")
	for start := 0; start < len(lines); {
		end := start + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "---") {
			end++
		}
		stripDocument(lines[start:end])
		start = end
	}
	return strings.Join(lines, "\n")
}

// stripDocument empties the lines that make one document a hook.
func stripDocument(lines []string) {
	hook := slices.IndexFunc(lines, hookLine.MatchString)
	if hook < 0 {
		return
	}
	for event := range strings.SplitSeq(hookLine.FindStringSubmatch(lines[hook])[1], ",") {
		if strings.Contains(event, "delete") {
			return
		}
	}
	for i, line := range lines {
		if i == hook || hookDetailLine.MatchString(line) {
			lines[i] = ""
		}
	}
}

// criticalQuota is what AICR's bundler adds since July for a component whose pods have a system
// priority (gkeCriticalPriority in the registry, AICR's issue 915): GKE admits such pods only in a
// namespace with a ResourceQuota for their priority. It allows 32 pods a node, and at least 32.
func criticalQuota(r *recipe.Result, c *recipe.Component, namespace string) []recipe.Manifest {
	if !c.GKECriticalPriority || r.Criteria.Service != "gke" || document.GenerationOf(r.APIVersion) == recipe.March {
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
`, name, namespace, max(32, 32*r.Criteria.Nodes))
	return []recipe.Manifest{{Path: name + ".yaml", File: c.Registered.File, Line: c.Registered.Line, Content: []byte(content)}}
}
