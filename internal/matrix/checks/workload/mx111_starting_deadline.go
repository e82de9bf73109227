package workload

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// lookedAt is how often the controller of CronJobs looks for what it has missed, in seconds.
const lookedAt = 10

var startingDeadline = judge.Check{
	ID: "MX111", Name: "starting-deadline-too-short", Needs: judge.Rendered, Kinds: judge.KindsOf(batchv1.GroupName, "CronJob"),
	Title: "A CronJob may start later than its controller looks",
	Why: "The controller looks for Jobs that are due every ten seconds. With a shorter deadline it may find one too late, and leaves it out " +
		"(https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#starting-deadline).",
	Fix:  "Set startingDeadlineSeconds to a minute or more, or leave it out.",
	Says: "has startingDeadlineSeconds: %d", Then: "its controller looks every %[2]d seconds, and may leave out a Job that it finds later than that",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(batchv1.GroupName, "CronJob")...) {
			if c := facts.As[batchv1.CronJob](s.Index, o); c != nil && c.Spec.StartingDeadlineSeconds != nil && *c.Spec.StartingDeadlineSeconds < lookedAt {
				s.Report(o, "spec.startingDeadlineSeconds", *c.Spec.StartingDeadlineSeconds, lookedAt).SetBy("startingDeadlineSeconds")
			}
		}
	},
}
