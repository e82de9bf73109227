package gate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A rejection whose cause nothing in the bundle removes ends the cell with the API server's error,
// whatever the deployer reports. If the missing object may still come, the gate waits, and then
// quotes the same error.
func TestGateRefusedPods(t *testing.T) {
	const refusal = `pods "f-" is forbidden: pod rejected: RuntimeClass "nvidia" not found`
	class := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": map[string]any{"name": "nvidia"}}}
	event := &corev1.Event{
		ObjectMeta: testkit.ObjectMeta("Event", "f"), Reason: "FailedCreate", Message: "Error creating: " + refusal,
		InvolvedObject: corev1.ObjectReference{Kind: "DaemonSet", Name: "f", UID: types.UID("DaemonSet/f")},
	}
	for name, tc := range map[string]struct {
		poll    func(time.Duration) (lane.State, error)
		objects []bundle.Object
		took    time.Duration
	}{
		"the deployer is content":     {always(good("a")), nil, lane.SuspectFor},
		"the deployer waits":          {always(is("a", lane.ItemWaiting, "is Progressing")), nil, lane.SuspectFor},
		"the bundle has the object":   {always(good("a")), []bundle.Object{{Object: class}}, 60 * time.Second},
		"another object is no reason": {always(good("a")), []bundle.Object{{Object: &unstructured.Unstructured{Object: map[string]any{"kind": "RuntimeClass", "metadata": map[string]any{"name": "other"}}}}}, lane.SuspectFor},
	} {
		t.Run(name, func(t *testing.T) {
			r := gateCase{
				sync: 60 * time.Second, poll: tc.poll, objects: tc.objects,
				workloads: []bundle.Workload{testkit.Expected("DaemonSet", "f", -1, testkit.Acc)}, live: testkit.List(testkit.DaemonSet("f"), event),
			}.run(t)
			v := r.failed(t, reason.WorkloadFailed, refusal)
			testkit.WantText(t, "cause", v.Cause, "DaemonSet", "f", "the API server rejects its pods")
			r.within(t, tc.took, tc.took+2*time.Second)
		})
	}
}
