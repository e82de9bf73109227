package daytwo

// expiring.go knows the Jobs of a bundle that Kubernetes deletes once they have finished. It must not
// know how a bundle is delivered.

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
)

// expiringAfter is how long a Job is there once it has finished, if that is limited. Hooks are left out: each
// delivery runs them anyway.
func expiringAfter(o *bundle.Object) (time.Duration, bool) {
	var job batchv1.Job
	if o.Hook || o.Object.GetKind() != "Job" || !problem.Read(o, &job) || job.Spec.TTLSecondsAfterFinished == nil {
		return 0, false
	}
	return time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second, true
}

// expiringJobs are those of a bundle, by their references.
func expiringJobs(b *bundle.Bundle) map[result.Ref]bool {
	all := map[result.Ref]bool{}
	for i := range b.Expectation.Objects {
		if _, ok := expiringAfter(&b.Expectation.Objects[i]); ok {
			all[b.Expectation.Objects[i].Ref()] = true
		}
	}
	return all
}

var jobRunsAgain = judge.Check{
	ID: "MX712", Name: "job-runs-with-each-delivery", Needs: judge.Second, Kinds: judge.KindsOf(batchv1.GroupName, "Job"),
	Lanes: func(o judge.Order) bool { return !o.ArgoCD }, // which creates it again by itself: MX514
	Title: "A Job that is no hook does not run again with each delivery",
	Why:   "A Job with ttlSecondsAfterFinished is deleted after it has finished. Each delivery finds it missing and creates it, so that it runs again. This is said of a cell that is delivered twice (--drift).",
	Fix:   "Make it a hook, or remove ttlSecondsAfterFinished.",
	Says:  "runs again with each delivery: it is deleted %s after it has finished (spec.ttlSecondsAfterFinished), and is no hook",
	Then:  "make it a hook, or remove the field",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(batchv1.GroupName, "Job")...) {
			if ttl, ok := expiringAfter(o); ok && s.Delivery.Before == nil {
				s.Report(o, "spec.ttlSecondsAfterFinished", ttl)
			}
		}
	},
}
