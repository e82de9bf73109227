package intact

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A pod that a policy would steer to no node is found, and one that some node still admits is not
// (F198).
func TestStrayed(t *testing.T) {
	policy := testkit.Parsed(t, "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: away}\n")
	e := &bundle.Expectation{Objects: []bundle.Object{{Component: "p", Template: "p/templates/p.yaml", Object: policy}}, Workloads: []bundle.Workload{{Component: "b", Kind: "DaemonSet", Namespace: "n", Name: "d"}}}
	if !steered(e) || steered(&bundle.Expectation{}) {
		t.Error("which recipes have such a policy")
	}
	nodes := []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"disk": "ssd"}}}}
	controller := true
	pod := func(selector map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "d-1", OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &controller}}}, Spec: corev1.PodSpec{NodeSelector: selector}}
	}
	now := pod(nil)
	now.Spec.NodeName = "n1"
	of := trial{kind: "pod", object: now, owner: metav1.GetControllerOf(now)}
	f, ok := strayed(e, of, now, pod(map[string]string{"nowhere": "here"}), nodes)
	if want := "DaemonSet n/d (b): no node would admit its next pod, to which MutatingAdmissionPolicy away gives the nodeSelector nowhere=here"; !ok || !strings.Contains(f.Cause, want) {
		t.Errorf("got %q, want %q", f.Cause, want)
	}
	if f, ok := strayed(e, of, now, pod(map[string]string{"disk": "ssd"}), nodes); ok {
		t.Errorf("got %q for a pod that a node admits", f.Cause)
	}
}
