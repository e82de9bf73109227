package gate

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A Job whose pods do not end is red long before the budget is over, in every lane: a pod that has
// a node ends at once. One whose pods still come, or are tried again, has its whole time.
func TestStuckJobs(t *testing.T) {
	waits := func(time.Duration) (lane.State, error) {
		return lane.State{RootSeen: true, Items: []lane.Item{{ID: "HelmRelease comp", Ref: result.Ref{Kind: "HelmRelease", Name: "comp"}, State: lane.ItemWaiting, Text: "waits for its hook"}}}, nil
	}
	for name, c := range map[string]struct {
		pod         *corev1.Pod
		slowness    float64
		more        []time.Duration // when a further pod becomes ready
		least, most time.Duration
		reason      reason.Reason
	}{
		"a pod that stays":       {testkit.Pod("j-1", "Job", "j", "s0"), 0, nil, stuckFor, stuckFor + 4*time.Second, reason.WorkloadFailed},
		"others become ready":    {testkit.Pod("j-1", "Job", "j", "s0"), 0, []time.Duration{15 * time.Second}, 15*time.Second + stuckFor, 19*time.Second + stuckFor, reason.WorkloadFailed},
		"a slow machine":         {testkit.Pod("j-1", "Job", "j", "s0"), stretchFrom, nil, stretchFrom * stuckFor, stretchFrom*stuckFor + 5*time.Second, reason.WorkloadFailed},
		"a pod that was tried":   {testkit.Pod("j-1", "Job", "j", "s0", testkit.Phase(corev1.PodFailed)), 0, nil, 299 * time.Second, 302 * time.Second, reason.WorkloadFailed},
		"a pod without its node": {testkit.Pod("j-1", "Job", "j", ""), 0, nil, 299 * time.Second, 302 * time.Second, reason.SchedulingFailed},
	} {
		t.Run(name, func(t *testing.T) {
			g := gateCase{poll: waits, slowness: c.slowness, workloads: []bundle.Workload{testkit.Expected("Job", "j", 1, testkit.Sys), testkit.Expected("Deployment", "d", 1, testkit.Sys)}, releases: []bundle.Release{{Name: "comp", Component: "comp"}}}
			g.live = testkit.Objects(testkit.List(testkit.Job("j", ""), c.pod), testkit.Deployment("d"))
			g.kube = func(kube *fake.Clientset) {
				for _, at := range c.more {
					time.AfterFunc(at, func() { _ = kube.Tracker().Add(testkit.Pod("d-1", "ReplicaSet", "d", "s0")) })
				}
			}
			r := g.run(t)
			r.failed(t, c.reason, "Job ns/j")
			r.within(t, c.least, c.most)
		})
	}
}

// Where the deployer says at once that a workload has failed, the workload's failure is the verdict, as in
// lanes whose deployer still waits (F247). What else a release fails for is the release's.
func TestStalledBy(t *testing.T) {
	for text, want := range map[string]struct {
		reason reason.Reason
		cause  string
	}{
		"InstallFailed: failed early due to stalled resources: [Job/ns/j status: 'Failed']":       {reason.WorkloadFailed, "Job ns/j (comp): the Job failed: "},
		"InstallFailed: failed early due to stalled resources: [Job/ns/j-other status: 'Failed']": {reason.DeployFailed, "j-other"},
		"install chart c 1.0.0: failed pre-install: job j failed: BackoffLimitExceeded":           {reason.WorkloadFailed, "Job ns/j (comp): the Job failed: "},
		"install chart c 1.0.0: failed pre-install: job other failed: BackoffLimitExceeded":       {reason.DeployFailed, "job other failed"},
		"Job ns/j: Job has reached the specified backoff limit":                                   {reason.WorkloadFailed, "Job ns/j (comp): the Job failed: "},
		"Job ns/j-other: Job has reached the specified backoff limit":                             {reason.DeployFailed, "Job ns/j-other"},
		"InstallFailed: forbidden": {reason.DeployFailed, "forbidden"},
	} {
		fails := func(time.Duration) (lane.State, error) {
			return lane.State{RootSeen: true, Items: []lane.Item{{ID: "HelmRelease comp", Ref: result.Ref{Kind: "HelmRelease", Name: "comp"}, State: lane.ItemFailed, Text: text}}}, nil
		}
		job := testkit.Expected("Job", "j", 1, testkit.Sys)
		job.Hook = true
		g := gateCase{poll: fails, workloads: []bundle.Workload{job}, releases: []bundle.Release{{Name: "comp", Component: "comp"}}}
		g.live = testkit.Objects(testkit.List(testkit.Job("j", batchv1.JobFailed)))
		r := g.run(t)
		r.failed(t, want.reason, want.cause)
		r.within(t, 0, 15*time.Second)
	}
}
