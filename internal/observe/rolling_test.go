package observe

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// A workload whose pods are ready, but of the template that an upgrade has replaced, is not ready:
// else a rollout that never ends would pass on the old pods.
func TestCheckWorkloads_Rolling(t *testing.T) {
	one := int32(1)
	for name, tc := range map[string]struct {
		updated int32
		paused  bool
		want    string
	}{
		"rolled out": {updated: 1},
		"rolling":    {updated: 0, want: "0 of its 1 pods are of the new template"},
		"paused":     {updated: 0, paused: true},
	} {
		t.Run(name, func(t *testing.T) {
			yes := true
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "d"}, Spec: appsv1.DeploymentSpec{Replicas: &one, Paused: tc.paused}, Status: appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: tc.updated}}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web-1", UID: "p", OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "d", Controller: &yes}}},
				Spec:       corev1.PodSpec{NodeName: "n"},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			}
			view, err := Poll(t.Context(), fake.NewClientset(d, pod, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
			if err != nil {
				t.Fatal(err)
			}
			report := CheckWorkloads([]bundle.Workload{{Kind: "Deployment", Namespace: "a", Name: "web", Replicas: 1, Node: bundle.NodeAny}}, view)
			got := report.WaitingTexts()
			if text := strings.Join(got, "\n"); tc.want == "" && text != "" || !strings.Contains(text, tc.want) {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}

// Percentages are rounded as the controllers round them. With both at 0, one pod may be missing.
func TestSurge(t *testing.T) {
	for name, tc := range map[string]struct {
		most, missing string
		pods          int
		want          bool
	}{
		"the default, 1 pod": {"25%", "25%", 1, true}, "the default, 3 pods": {"25%", "25%", 3, true}, "the default, 4 pods": {"25%", "25%", 4, false},
		"none may be missing": {"1", "0", 8, true}, "one may be missing": {"1", "1", 8, false}, "both 0": {"0", "0", 1, false},
	} {
		most, missing := intstr.Parse(tc.most), intstr.Parse(tc.missing)
		if got := surge(&most, &missing, tc.pods); (got != "") != tc.want {
			t.Errorf("%s: got %q, want some: %t", name, got, tc.want)
		}
	}
	if got := surge(nil, nil, 1); got != "" {
		t.Errorf("Recreate: got %q", got)
	}
}
