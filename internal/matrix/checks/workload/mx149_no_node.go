package workload

import (
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// It waits for the cluster: programs of the recipe may label nodes, and say what devices they have.
var templateWithoutNode = judge.Check{
	ID: "MX149", Name: "template-without-node", Needs: judge.Settled, Gives: reason.SchedulingFailed,
	Title: "Some node would admit the pods of a workload that has none yet",
	Why: "The scheduler judges pods, and a CronJob or a workload of 0 replicas has none (https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/). " +
		"Its template is compared with each node, as if there were no other pods.",
	Fix:  "Change what the pods ask for, or the nodes.",
	Says: "no node would admit its pods: %s", Then: "the pods of such a workload wait for ever",
	Others: map[string]judge.Message{"system": {Says: "wants %s nodes; the cluster has none", Then: "whether they would admit its pods is not known"}},
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Workloads {
			w := &s.Expectation.Workloads[i]
			if w.Kind != "CronJob" && w.Replicas != 0 {
				continue // it has pods
			}
			text, more, place := why.TemplateRefusal(w, s.Live.View)
			if text == "" {
				continue
			}
			path := facts.PodPath(w.Kind)
			if os, foreign := observe.ForeignOS(&w.PodSpec, s.Live.View.Nodes); foreign {
				s.ReportAs("system", s.ObjectOf(w), path, os).Note()
				continue
			}
			f := s.Report(s.ObjectOf(w), path, text).More(more...)
			if place.Line > 0 {
				f.At(place)
			}
		}
	},
}
