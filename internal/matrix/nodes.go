package matrix

import (
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

// eligibleNodes are the nodes that a pod template admits by selector, affinity and taints: the scheduler's own rules for whether a
// DaemonSet has a pod there. Resources do not count.
func eligibleNodes(spec *corev1.PodSpec, nodes []corev1.Node) []string {
	affinity := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec})
	var names []string
	for i := range nodes {
		n := &nodes[i]
		if ok, err := affinity.Match(n); err != nil || !ok {
			continue
		}
		if spec.NodeName != "" && spec.NodeName != n.Name {
			continue
		}
		if !tolerated(spec, n) {
			continue
		}
		names = append(names, n.Name)
	}
	return names
}

func tolerated(spec *corev1.PodSpec, n *corev1.Node) bool {
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Effect != corev1.TaintEffectNoSchedule && t.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		if daemonTolerates(t) {
			continue
		}
		ok := false
		for j := range spec.Tolerations {
			if spec.Tolerations[j].ToleratesTaint(klog.Logger{}, t, false) {
				ok = true
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// daemonTolerates: the DaemonSet controller adds tolerations for the node's own conditions.
func daemonTolerates(t *corev1.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") }

// nodeKinds maps node names to their kind.
func nodeKinds(nodes []corev1.Node) map[string]bundle.NodeKind {
	kinds := map[string]bundle.NodeKind{}
	for i := range nodes {
		kinds[nodes[i].Name] = bundle.NodeKind(nodes[i].Labels[infra.NodeTypeLabel])
	}
	return kinds
}

// foreignOS reports whether the template asks for an operating system that no node of the cluster has, e.g. a chart's Windows
// DaemonSet: no pod is the right number of pods then.
func foreignOS(spec *corev1.PodSpec, nodes []corev1.Node) (string, bool) {
	want := spec.NodeSelector[corev1.LabelOSStable]
	if want == "" {
		return "", false
	}
	for i := range nodes {
		if nodes[i].Labels[corev1.LabelOSStable] == want {
			return "", false
		}
	}
	return want, true
}

// describeTemplate says which requirements of a template no node meets, for a person.
func describeTemplate(spec *corev1.PodSpec, nodes []corev1.Node) string {
	var lines []string
	for _, k := range sortedKeys(spec.NodeSelector) {
		n := 0
		for i := range nodes {
			if nodes[i].Labels[k] == spec.NodeSelector[k] {
				n++
			}
		}
		lines = append(lines, fmt.Sprintf("nodeSelector %s=%s matches %d of %d nodes", k, spec.NodeSelector[k], n, len(nodes)))
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		n := 0
		for i := range nodes {
			if ok, err := corev1helpers.MatchNodeSelectorTerms(&nodes[i], a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution); err == nil && ok {
				n++
			}
		}
		lines = append(lines, fmt.Sprintf("required node affinity matches %d of %d nodes", n, len(nodes)))
	}
	n := 0
	for i := range nodes {
		if tolerated(spec, &nodes[i]) {
			n++
		}
	}
	if n < len(nodes) {
		lines = append(lines, fmt.Sprintf("its tolerations admit %d of %d nodes", n, len(nodes)))
	}
	return strings.Join(lines, "; ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
