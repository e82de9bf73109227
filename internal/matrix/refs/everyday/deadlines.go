package everyday

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	// soonest is what a node needs to pull a small image and start it, in seconds, and impossible what
	// scheduling and starting alone take, where chance would decide.
	soonest, impossible = 10, 2
	// lookedAt is how often the controller of CronJobs looks for what it has missed, in seconds
	// (https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#starting-deadline).
	lookedAt = 10
	// longWait is what a rollout of one batch of pods seldom takes.
	longWait = 10 * time.Minute
)

// deadlines warns of times that are too short for what has to happen in them on a real node, or so
// long that a rollout looks stuck.
func (f *finder) deadlines(o *bundle.Object) {
	switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "batch/Job":
		var j batchv1.Job
		if problem.Read(o, &j) {
			f.deadline(o, &j.Spec)
		}
	case "batch/CronJob":
		var c batchv1.CronJob
		if !problem.Read(o, &c) {
			return
		}
		f.deadline(o, &c.Spec.JobTemplate.Spec)
		if s := c.Spec.StartingDeadlineSeconds; s != nil && *s < lookedAt {
			p := problem.Of(o)
			p.Name, p.Text = "startingDeadlineSeconds", fmt.Sprintf("has startingDeadlineSeconds: %d", *s)
			p.Then = fmt.Sprintf("its controller looks every %d seconds, and may leave out a Job that it finds later than that", lookedAt)
			f.found = append(f.found, p)
		}
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet":
		seconds, _, _ := unstructured.NestedInt64(o.Object.Object, "spec", "minReadySeconds")
		if seconds <= int64(longWait.Seconds()) {
			return
		}
		p := problem.Of(o)
		p.Name, p.Text = "minReadySeconds", fmt.Sprintf("has minReadySeconds: %d, so that a pod is available only %d minutes after it is ready", seconds, seconds/60)
		p.Then = "each step of a rollout takes that long, and whoever waits for it gives up: Argo CD, Flux, kubectl rollout"
		f.found = append(f.found, p)
	}
}

// deadline warns of a Job that must end before its pod can have started: the time counts from when the
// Job starts, with the scheduling and the pull of its images in it.
func (f *finder) deadline(o *bundle.Object, j *batchv1.JobSpec) {
	seconds := j.ActiveDeadlineSeconds
	if own := j.Template.Spec.ActiveDeadlineSeconds; seconds == nil || own != nil && *own < *seconds {
		seconds = own
	}
	if seconds == nil || *seconds >= soonest {
		return
	}
	p := problem.Of(o)
	p.Name, p.Text = "activeDeadlineSeconds", fmt.Sprintf("must end %d s after it has started (activeDeadlineSeconds)", *seconds)
	p.Then = "scheduling and pulling its images are in that time, so that on a real node it fails with DeadlineExceeded"
	if *seconds <= impossible {
		p.Cause, p.Reason = "deadline of "+o.Ref().String(), reason.WorkloadFailed
	}
	f.found = append(f.found, p)
}
