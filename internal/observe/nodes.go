package observe

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

// EligibleNodes returns the nodes that a pod template admits by selector, affinity and taints,
// which are the scheduler's rules for whether a DaemonSet has a pod there. Resources do not count.
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

// Tolerated reports whether a DaemonSet's template tolerates the node, with the tolerations that
// its controller adds.
func Tolerated(spec *corev1.PodSpec, n *corev1.Node) bool {
	return len(Untolerated(AsDaemon(spec.Tolerations), n)) == 0
}

// Untolerated returns the taints by which a node rules out pods with these tolerations. The gate
// and its explanation both use it. PreferNoSchedule rules out none.
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

// AsDaemon adds the tolerations that the DaemonSet controller gives its pods.
func AsDaemon(tolerations []corev1.Toleration) []corev1.Toleration {
	return slices.Concat(tolerations, daemonTolerations())
}

// Admitted returns the spec that a pod of this template gets from the admission plug-ins of the
// nodes' provider. The DaemonSet controller does not ask them where its pods fit.
func Admitted(spec *corev1.PodSpec, nodes []corev1.Node) *corev1.PodSpec {
	if !slices.ContainsFunc(nodes, func(n corev1.Node) bool {
		return slices.Contains(infra.AdmissionPlugins([]*corev1.Node{&n}), infra.ExtendedResourceToleration)
	}) {
		return spec
	}
	spec = spec.DeepCopy()
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} { // the API server fills in requests from limits
			for name := range list {
				if extended(name) {
					spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: string(name), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
				}
			}
		}
	}
	return spec
}

// extended reports whether a resource is none of Kubernetes' own.
// https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources
func extended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), "kubernetes.io/") && !strings.HasPrefix(string(name), "requests.")
}

// nodeKinds maps node names to node kinds.
func nodeKinds(nodes []corev1.Node) map[string]bundle.NodeKind {
	kinds := map[string]bundle.NodeKind{}
	for i := range nodes {
		kinds[nodes[i].Name] = bundle.NodeKind(nodes[i].Labels[bundle.NodeTypeLabel])
	}
	return kinds
}

// ForeignOS returns the operating system that a pod spec selects and no node has, e.g. for a
// chart's Windows DaemonSet: the right number of pods is zero then.
func ForeignOS(spec *corev1.PodSpec, nodes []corev1.Node) (string, bool) {
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

// daemonTolerations returns what the DaemonSet controller adds to its pods.
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
