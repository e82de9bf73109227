package workload

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var surgeWithHostPort = judge.Check{
	ID: "MX163", Name: "surge-with-host-port", Needs: judge.Rendered, Kinds: judge.KindsOf("apps", "DaemonSet"),
	Title: "A DaemonSet with ports of its nodes does not surge",
	Why: "With maxSurge the new pod of a node comes before the old one goes, and a port of a node is for one pod: the new one stays Pending for ever " +
		"(https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/1591-daemonset-surge). A first delivery does not show it.",
	Fix:  "Use maxUnavailable in place of maxSurge.",
	Says: "surges when it is updated, and its pods have port %d of their node", Then: "no update of it ever ends: the new pod of a node waits for the old one to free the port, and the old one stays until the new one is ready",
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf("apps", "DaemonSet")...) {
			d := facts.As[appsv1.DaemonSet](s.Index, o)
			if d == nil || d.Spec.UpdateStrategy.RollingUpdate == nil || !surges(d.Spec.UpdateStrategy.RollingUpdate.MaxSurge) {
				continue
			}
			if port := nodePortOf(&d.Spec.Template.Spec); port > 0 {
				s.Report(o, "spec.updateStrategy.rollingUpdate.maxSurge", port).SetBy("maxSurge")
			}
		}
	},
}

func surges(n *intstr.IntOrString) bool { return n != nil && n.String() != "0" && n.String() != "0%" }

// nodePortOf is a port of the node that a pod takes, declared with hostPort or with hostNetwork; 0 if it takes none.
func nodePortOf(spec *corev1.PodSpec) int32 {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				return p.HostPort
			}
			if spec.HostNetwork {
				return p.ContainerPort
			}
		}
	}
	return 0
}
