package workload

import (
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var schedulerOfNobody = judge.Check{
	ID: "MX147", Name: "scheduler-of-nobody", Needs: judge.Rendered, Gives: reason.SchedulingFailed,
	Title: "Something in the recipe runs the scheduler that pods are for",
	Why:   "A pod with a schedulerName waits for a scheduler of that name (https://kubernetes.io/docs/tasks/extend-kubernetes/configure-multiple-schedulers/). Where the recipe runs one, a note says which.",
	Fix:   "Correct schedulerName, or add the scheduler to the recipe.",
	Says:  "is for the scheduler %s, which nothing in the recipe runs", Then: "no scheduler looks at its pods",
	Others: map[string]judge.Message{"run": {Says: "is for the scheduler %s, which %s runs", Then: "where its pods are simulated, so are its decisions"}},
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			name := observe.OtherScheduler(&p.Template.Spec)
			if name == "" {
				continue
			}
			if by := facts.RunsScheduler(s.Expectation, name); by != "" {
				s.ReportAs("run", p.Object, p.Path()+".schedulerName", name, by).Note()
				continue
			}
			s.Report(p.Object, p.Path()+".schedulerName", name).OneCause(name)
		}
	},
}
