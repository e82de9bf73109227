// Package expiring knows the Jobs of a bundle that Kubernetes deletes once they have finished. It must not
// know how a bundle is delivered.
package expiring

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result"
)

// After is how long a Job is there once it has finished, if that is limited. Hooks are left out: each
// delivery runs them anyway.
func After(o *bundle.Object) (time.Duration, bool) {
	var job batchv1.Job
	if o.Hook || o.Object.GetKind() != "Job" || !problem.Read(o, &job) || job.Spec.TTLSecondsAfterFinished == nil {
		return 0, false
	}
	return time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second, true
}

// Jobs are those of a bundle, by their references.
func Jobs(b *bundle.Bundle) map[result.Ref]bool {
	all := map[result.Ref]bool{}
	for i := range b.Expectation.Objects {
		if _, ok := After(&b.Expectation.Objects[i]); ok {
			all[b.Expectation.Objects[i].Ref()] = true
		}
	}
	return all
}

// RunAgain warns of each of them: a delivery that finds it gone creates it anew.
func RunAgain(b *bundle.Bundle) (lines []string) {
	for i := range b.Expectation.Objects {
		o := &b.Expectation.Objects[i]
		if ttl, ok := After(o); ok {
			lines = append(lines, fmt.Sprintf("%s runs again with each delivery: it is deleted %s after it has finished (spec.ttlSecondsAfterFinished), and is no hook (component %s, %s)", o.Ref(), ttl, o.Component, o.Where("spec", "ttlSecondsAfterFinished")))
		}
	}
	return lines
}
