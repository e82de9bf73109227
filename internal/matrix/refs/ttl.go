package refs

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// soon is a time to live after which a Job that is created again each time keeps a cluster busy. A
// longer one may be wanted as a schedule, and is a warning.
const soon = 10 * time.Minute

// recreated checks an ordinary Job that is deleted after it has finished, where the deployer heals
// the cluster by itself: the Job is missing then, so it is created again, for ever
// (https://argo-cd.readthedocs.io/en/stable/user-guide/auto_sync/#automatic-self-healing).
func (c *checker) recreated(o *bundle.Object, r reference) {
	var job batchv1.Job
	if !c.have.SelfHeals || o.Hook || !problem.Read(o, &job) || job.Spec.TTLSecondsAfterFinished == nil {
		return
	}
	ttl := time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second
	r.text = fmt.Sprintf("is deleted %s after it has finished (spec.ttlSecondsAfterFinished: %d), and is no hook", ttl, *job.Spec.TTLSecondsAfterFinished)
	r.cause, r.then = "Job "+r.from.String(), "Argo CD creates it again each time, for ever (selfHeal); make it a hook, or remove the field"
	if ttl >= soon {
		c.warn(r)
		return
	}
	c.fail(reason.DeployFailed, r)
}
