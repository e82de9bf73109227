package delivery

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// soon is a time to live after which a Job that is created again each time keeps a cluster busy. A longer one may be
// wanted as a schedule, and is a warning.
const soon = 10 * time.Minute

var jobComesAgain = judge.Check{
	ID: "MX514", Name: "job-comes-again", Needs: judge.Rendered, Kinds: judge.KindsOf(batchv1.GroupName, "Job"), Gives: reason.DeployFailed,
	Lanes: func(o judge.Order) bool { return o.Heals },
	Title: "Where Argo CD heals, a Job is not deleted by itself",
	Why: "A Job with ttlSecondsAfterFinished is deleted after it has finished. Argo CD then finds it missing and creates it again, unless it is a hook " +
		"(https://argo-cd.readthedocs.io/en/stable/user-guide/auto_sync/#automatic-self-healing). From ten minutes on, that may be meant as a schedule, and is a warning.",
	Fix:  "Make it a hook, or remove ttlSecondsAfterFinished.",
	Says: "is deleted %s after it has finished (spec.ttlSecondsAfterFinished: %d), and is no hook", Then: "Argo CD creates it again each time, for ever (selfHeal); make it a hook, or remove the field",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(batchv1.GroupName, "Job")...) {
			j := facts.As[batchv1.Job](s.Index, o)
			if j == nil || o.Hook || j.Spec.TTLSecondsAfterFinished == nil {
				continue
			}
			ttl := time.Duration(*j.Spec.TTLSecondsAfterFinished) * time.Second
			if found := s.Report(o, "spec.ttlSecondsAfterFinished", ttl, *j.Spec.TTLSecondsAfterFinished).SetBy(""); ttl >= soon {
				found.Warning()
			}
		}
	},
}
