package observe

import (
	"context"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/nvidia/aicr-action/internal/infra"
)

// Jobs remembers how each Job of a cluster ended. A Job with spec.ttlSecondsAfterFinished is deleted
// after it has finished, whether it is complete or has failed, so a list at the end does not show
// how it ended, nor that there ever was one.
type Jobs struct {
	mu   sync.Mutex
	ends map[string]jobEnd // by namespace/name
}

// jobEnd is what was seen of the Jobs of one name.
type jobEnd struct {
	uid      types.UID
	complete bool
	failed   string // the newest one's condition
	// times is how many Jobs of this name were seen.
	times int
}

// WatchJobs starts to watch the cluster's Jobs. It returns once all that exist have been seen, which
// may take until ctx ends.
func WatchJobs(ctx context.Context, watches *Watches) (*Jobs, error) {
	j := &Jobs{ends: map[string]jobEnd{}}
	handled, err := watches.factory.Batch().V1().Jobs().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    j.saw,
		UpdateFunc: func(_, obj any) { j.saw(obj) },
		DeleteFunc: j.saw, // with its last state, which no update may have shown
	})
	if err != nil {
		return nil, err
	}
	watches.Start()
	if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		return nil, context.Cause(ctx)
	}
	return j, nil
}

func (j *Jobs) saw(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	job, ok := obj.(*batchv1.Job)
	if !ok {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	key := infra.NamespacedName(job.Namespace, job.Name)
	end := j.ends[key]
	if end.uid != job.UID {
		end = jobEnd{uid: job.UID, times: end.times + 1}
	}
	for _, c := range job.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			end.complete = true
		case c.Type == batchv1.JobFailed:
			end.failed = c.Reason + ": " + c.Message
		}
	}
	j.ends[key] = end
}

// of returns what was seen of the Jobs of a name; the zero value if there was none.
func (j *Jobs) of(namespace, name string) jobEnd {
	if j == nil {
		return jobEnd{}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ends[infra.NamespacedName(namespace, name)]
}

// Completed reports whether the newest Job of the name was seen complete, even if it no longer
// exists.
func (j *Jobs) Completed(namespace, name string) bool { return j.of(namespace, name).complete }

// Times returns how many Jobs of the name were seen, one after the other.
func (j *Jobs) Times(namespace, name string) int { return j.of(namespace, name).times }
