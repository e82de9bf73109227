package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// fewPods is a number of pods that every cluster here has room for.
const fewPods = 100

var roomForPods = judge.Check{
	ID: "MX150", Name: "more-pods-than-nodes-take", Needs: judge.Rendered, Gives: reason.SchedulingFailed,
	Title: "A workload asks for no more pods than the nodes that admit them may have",
	Why: "A kubelet runs at most as many pods as its node has allocatable, 110 by default (https://kubernetes.io/docs/setup/best-practices/cluster-large/). " +
		"The pods of a Job may come one after the other. Where no node admits the pods, the scheduler says why.",
	Fix:  "Ask for fewer pods, or run with more nodes.",
	Says: "wants %d pods, and there is room for %d on the %s that would admit them (allocatable pods)", Then: "the others stay Pending for ever: ask for fewer, or run with more nodes",
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Workloads {
			w := &s.Expectation.Workloads[i]
			if w.Replicas <= fewPods || !facts.AtOnce(w) {
				continue
			}
			var admit []*corev1.Node
			names := observe.EligibleNodes(&w.PodSpec, s.Nodes)
			for j := range s.Nodes {
				if slices.Contains(names, s.Nodes[j].Name) {
					admit = append(admit, &s.Nodes[j])
				}
			}
			if fit := facts.RoomOf(admit); len(admit) > 0 && w.Replicas > fit {
				o := s.ObjectOf(w)
				s.Report(o, "spec.replicas", w.Replicas, fit, lists.Count(len(admit), "node")).SetBy(fmt.Sprint(w.Replicas)).OneCause(o.Ref().String())
			}
		}
	},
}
