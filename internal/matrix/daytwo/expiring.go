package daytwo

// expiring.go knows the Jobs of a bundle that Kubernetes deletes once they have finished. It must not
// know how a bundle is delivered.

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
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

// runAgain warns of each of them: a delivery that finds it gone creates it anew.
func runAgain(b *bundle.Bundle) (lines []string) {
	for i := range b.Expectation.Objects {
		o := &b.Expectation.Objects[i]
		if ttl, ok := expiringAfter(o); ok {
			lines = append(lines, fmt.Sprintf("%s runs again with each delivery: it is deleted %s after it has finished (spec.ttlSecondsAfterFinished), and is no hook (component %s, %s)", o.Ref(), ttl, o.Component, o.Where("spec", "ttlSecondsAfterFinished")))
		}
	}
	return lines
}
