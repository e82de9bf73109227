package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// EligibleNodes are the nodes that a pod template admits by selector, affinity and taints: the
// scheduler's own rules for whether a DaemonSet has a pod there. Resources do not count.
func EligibleNodes(spec *corev1.PodSpec, nodes []corev1.Node) []string {
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
		if !Tolerated(spec, n) {
			continue
		}
		names = append(names, n.Name)
	}
	return names
}

// Tolerated reports whether a DaemonSet's template, with what its controller adds, tolerates the
// node.
func Tolerated(spec *corev1.PodSpec, n *corev1.Node) bool {
	return len(Untolerated(AsDaemon(spec.Tolerations), n)) == 0
}

// Untolerated are the taints by which a node refuses pods with these tolerations: the gate and its
// explanation both ask here. A taint that only prefers other pods refuses none.
func Untolerated(tolerations []corev1.Toleration, n *corev1.Node) []corev1.Taint {
	var refusing []corev1.Taint
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Effect != corev1.TaintEffectNoSchedule && t.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		if !corev1helpers.TolerationsTolerateTaint(klog.Logger{}, tolerations, t, false) {
			refusing = append(refusing, *t)
		}
	}
	return refusing
}

// AsDaemon are the tolerations of the pods that the DaemonSet controller makes of a template with
// these.
func AsDaemon(tolerations []corev1.Toleration) []corev1.Toleration {
	return slices.Concat(tolerations, daemonTolerations())
}

// nodeKinds maps node names to their kind.
func nodeKinds(nodes []corev1.Node) map[string]bundle.NodeKind {
	kinds := map[string]bundle.NodeKind{}
	for i := range nodes {
		kinds[nodes[i].Name] = bundle.NodeKind(nodes[i].Labels[bundle.NodeTypeLabel])
	}
	return kinds
}

// ForeignOS is the operating system that a pod spec wants and no node has.
func ForeignOS(spec *corev1.PodSpec, nodes []corev1.Node) (string, bool) {
	return foreignOS(spec, nodes)
}

// foreignOS reports whether the template asks for an operating system that no node of the cluster
// has, e.g. a chart's Windows DaemonSet: no pod is the right number of pods then.
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

// daemonTolerations are what the DaemonSet controller adds to its pods.
// https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations
func daemonTolerations() []corev1.Toleration {
	var all []corev1.Toleration
	for _, key := range []string{
		corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure,
		corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable, corev1.TaintNodeNetworkUnavailable,
	} {
		all = append(all, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
	return all
}
