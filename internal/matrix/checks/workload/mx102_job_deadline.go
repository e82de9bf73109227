package workload

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	// soonest is what a node needs to pull a small image and start it, in seconds, and impossible what scheduling and
	// starting alone take, where chance would decide.
	soonest, impossible = 10, 2
)

var jobDeadline = judge.Check{
	ID: "MX102", Name: "job-deadline-too-short", Needs: judge.Rendered, Kinds: judge.KindsOf(batchv1.GroupName, "Job", "CronJob"), Gives: reason.WorkloadFailed,
	Title: "A Job has the time to pull its images and start",
	Why: "The deadline of a Job counts from when the Job starts, with the scheduling of its pods and the pull of their images in it " +
		"(https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-termination-and-cleanup). Under 10 s is a warning; at 2 s or less, no node starts a pod in time.",
	Fix:  "Give activeDeadlineSeconds the time that a cold node needs, or leave it out.",
	Says: "must end %d s after it has started (activeDeadlineSeconds)", Then: "scheduling and pulling its images are in that time, so that on a real node it fails with DeadlineExceeded",
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf(batchv1.GroupName, "Job")...) {
			if j := facts.As[batchv1.Job](s.Index, o); j != nil {
				deadline(s, o, "spec", &j.Spec)
			}
		}
		for _, o := range s.OfKind(judge.KindsOf(batchv1.GroupName, "CronJob")...) {
			if c := facts.As[batchv1.CronJob](s.Index, o); c != nil {
				deadline(s, o, "spec.jobTemplate.spec", &c.Spec.JobTemplate.Spec)
			}
		}
	},
}

func deadline(s *judge.Scope, o *bundle.Object, path string, j *batchv1.JobSpec) {
	seconds, field := j.ActiveDeadlineSeconds, path+".activeDeadlineSeconds"
	if own := j.Template.Spec.ActiveDeadlineSeconds; own != nil && (seconds == nil || *own < *seconds) {
		seconds, field = own, path+".template.spec.activeDeadlineSeconds"
	}
	if seconds == nil || *seconds >= soonest {
		return
	}
	found := s.Report(o, field, *seconds).SetBy("activeDeadlineSeconds")
	if *seconds > impossible {
		found.Warning()
	}
}
