package workload

import (
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// No dry run can say it: the API server counts the classes that exist, and a dry run keeps none.
var secondDefaultPriority = judge.Check{
	ID: "MX112", Name: "second-default-priority", Needs: judge.Rendered, Kinds: judge.KindsOf(schedulingv1.GroupName, "PriorityClass"), Gives: reason.DeployFailed,
	Title: "A recipe has at most one PriorityClass that is the default",
	Why:   "Only one PriorityClass of a cluster may have globalDefault (https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/#priorityclass): an admission plugin of the API server refuses a second.",
	Fix:   "Set globalDefault: false in one of them.",
	Says:  "is the default of the cluster, and so is %s (%s)", Then: "the API server refuses the second one, unless both come in the same moment: then it refuses the next change of either",
	Run: func(s *judge.Scope) {
		var first *bundle.Object
		for _, o := range s.Rendered(judge.KindsOf(schedulingv1.GroupName, "PriorityClass")...) {
			if c := facts.As[schedulingv1.PriorityClass](s.Index, o); c == nil || !c.GlobalDefault {
				continue
			}
			if first == nil {
				first = o
			} else if o.Ref() != first.Ref() {
				s.Report(o, "globalDefault", first.Ref(), first.Component).SetBy("globalDefault")
			}
		}
	},
}
