package workload

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var nodeName = judge.Check{
	ID: "MX151", Name: "node-by-name", Needs: judge.Rendered, Gives: reason.SchedulingFailed,
	Title: "No workload is for a node by its name",
	Why:   "No scheduler looks at a pod with spec.nodeName (https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename), and the names of a provider's nodes come with the nodes.",
	Fix:   "Use a nodeSelector.",
	Says:  "is for the node %s by name (spec.nodeName), which only a simulated cluster can have",
	Then:  "a provider's nodes get their names when they are made, and no scheduler looks at a pod with spec.nodeName: use a nodeSelector",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			if name := p.Template.Spec.NodeName; name != "" {
				s.Report(p.Object, p.Path()+".nodeName", name).OneCause(name)
			}
		}
	},
}
