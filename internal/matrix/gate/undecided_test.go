package gate

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// One wrong workload does not hide those that are a second behind it: the verdict waits until each
// workload has its pods and the scheduler has looked at them, but not for ever.
func TestGateTellsAllThatIsWrong(t *testing.T) {
	gated := func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "later"}} }
	for name, c := range map[string]struct {
		late        *corev1.Pod
		at          time.Duration
		findings    int
		least, most time.Duration
	}{
		"its pod comes":       {testkit.Pod("e-1", "ReplicaSet", "e", "", gated), 3 * time.Second, 2, 3 * time.Second, 5 * time.Second},
		"its pod is there":    {testkit.Pod("e-1", "ReplicaSet", "e", "", gated), 0, 2, 0, time.Second},
		"it never has a pod":  {nil, 0, 1, pendingFor, pendingFor + 2*time.Second},
		"it is ready":         {testkit.Pod("e-1", "ReplicaSet", "e", "s0"), 0, 1, 0, time.Second},
		"nobody looks at it":  {testkit.Pod("e-1", "ReplicaSet", "e", ""), 0, 1, pendingFor, pendingFor + 2*time.Second},
		"its program is slow": {testkit.Pod("e-1", "ReplicaSet", "e", "s0", testkit.NotReady), 0, 1, 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := gateCase{poll: always(good("a")), workloads: []bundle.Workload{testkit.Expected("Job", "j", 1, testkit.Sys), testkit.Expected("Deployment", "e", 1, testkit.Sys)}}
			g.live = testkit.Objects(testkit.List(testkit.Job("j", "Failed")), testkit.Deployment("e"))
			if c.late != nil && c.at == 0 {
				g.live = append(g.live, c.late)
			}
			g.kube = func(kube *fake.Clientset) {
				if c.at > 0 {
					time.AfterFunc(c.at, func() { _ = kube.Tracker().Add(c.late) })
				}
			}
			r := g.run(t)
			v := r.failed(t, reason.WorkloadFailed, "Job ns/j")
			r.within(t, c.least, c.most)
			if got := len(v.Findings); got != c.findings || strings.Contains(strings.Join(v.Details, "\n"), "scheduling gate later") != (c.findings == 2) {
				t.Errorf("got %d findings, want %d:\n%s", got, c.findings, strings.Join(v.Details, "\n"))
			}
		})
	}
}
