package gate

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A workload that a release delivered and that nothing foresaw is judged like any other (F187).
func TestGate_Unforeseen(t *testing.T) {
	live := func(pod *corev1.Pod) []runtime.Object {
		objects := testkit.Deployment("extra")
		d, ok := objects[0].(*appsv1.Deployment)
		if !ok {
			t.Fatal("no Deployment")
		}
		d.Annotations = map[string]string{"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": d.Namespace}
		return append(objects, pod)
	}
	releases := []bundle.Release{{Name: "r", Component: "r", Namespace: testkit.ObjectMeta("Deployment", "d").Namespace}}
	const line = "was not foreseen: the cluster has it of a template of release r"
	never := testkit.Pod("extra-1", "ReplicaSet", "extra", "", func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available"}}}
	})
	v := gateCase{poll: always(good("a")), live: live(never), releases: releases}.run(t).failed(t, reason.SchedulingFailed, "extra")
	if story := strings.Join(v.Findings[0].Story, "\n"); !strings.Contains(story, line) {
		t.Errorf("got the story %q, want %q", story, line)
	}
	passes := gateCase{poll: always(good("a")), live: live(testkit.Pod("extra-1", "ReplicaSet", "extra", "s0")), releases: releases}.run(t)
	passes.passed(t, 2)
	if notes := strings.Join(passes.outcome.Notes, "\n"); !strings.Contains(notes, line) {
		t.Errorf("got the notes %q, want %q", notes, line)
	}
}
