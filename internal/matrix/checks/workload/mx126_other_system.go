package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// It waits for the cluster: where pods are is the scheduler's to decide.
var otherSystem = judge.Check{
	ID: "MX126", Name: "pods-on-another-system", Needs: judge.Settled, Gives: reason.WorkloadFailed,
	Title: "Pods are on nodes of the operating system that they are for",
	Why:   "The scheduler does not look at spec.os. A kubelet of another system rejects the pod (https://kubernetes.io/docs/concepts/workloads/pods/#pod-os).",
	Fix:   "Give the pods a nodeSelector for kubernetes.io/os.",
	Says:  "is for %s (spec.os), and its pods were placed on node %s, which has %s", Then: "a kubelet rejects its pods (PodOSNotSupported)",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			if p.Template.Spec.OS == nil {
				continue
			}
			pods, want := s.LivePods(p.Object), string(p.Template.Spec.OS.Name)
			if i := slices.IndexFunc(s.Nodes, func(n corev1.Node) bool {
				has := n.Labels[corev1.LabelOSStable]
				return has != "" && has != want && slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == n.Name })
			}); i >= 0 {
				s.Report(p.Object, p.Path()+".os.name", want, s.Nodes[i].Name, s.Nodes[i].Labels[corev1.LabelOSStable])
			}
		}
	},
}
