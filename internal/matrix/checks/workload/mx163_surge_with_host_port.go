package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/bundle/podspec"
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
			if ports := podspec.NodePorts(&d.Spec.Template.Spec); len(ports) > 0 {
				s.Report(o, "spec.updateStrategy.rollingUpdate.maxSurge", ports[0].HostPort).SetBy("maxSurge")
			}
		}
	},
}

func surges(n *intstr.IntOrString) bool { return n != nil && n.String() != "0" && n.String() != "0%" }
