package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var nodeOfTemplate = judge.Check{
	ID: "MX127", Name: "node-in-a-template", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf("", "Node"), Gives: reason.WorkloadFailed,
	Title: "No template creates a Node",
	Why: "A Node stands for a machine whose kubelet reports on it (https://kubernetes.io/docs/concepts/architecture/nodes/#manual-node-administration). " +
		"One from a template has no kubelet. The scheduler takes it for a place if it looks ready. Without pods on it, it is a warning.",
	Fix:  "Remove it; let machines register themselves.",
	Says: "is a Node that a template creates; no machine belongs to it, and pod %s/%s is on it", Then: "no kubelet reports that it is ready, so that no pod starts there",
	Others: map[string]judge.Message{"empty": {Says: "is a Node that a template creates; no machine belongs to it", Then: "no kubelet reports that it is ready, so that no pod starts there"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "Node")...) {
			name := o.Object.GetName()
			var pods []corev1.Pod
			if s.Live != nil {
				pods = s.Live.View.Pods
			}
			if i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Spec.NodeName == name }); i >= 0 {
				s.Report(o, "metadata.name", pods[i].Namespace, pods[i].Name).OneCause(name)
			} else {
				s.ReportAs("empty", o, "metadata.name").Warning()
			}
		}
	},
}
