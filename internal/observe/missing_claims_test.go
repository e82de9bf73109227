package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Pods of a ResourceClaim that does not exist are pending although no scheduler says so, and those of one
// that exists only wait for their turn, however long (F140).
func TestWaitsForClaim(t *testing.T) {
	waits := func(name, claim string, age time.Duration, more ...func(*corev1.Pod)) *corev1.Pod {
		return testkit.Pod(name, "", "", "", append(more, func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(time.Now().Add(-age))
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim}}
		})...)
	}
	kube := fake.NewClientset(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "there"}})
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"missing":           {waits("p", "nope", time.Minute), "no scheduler tries to place its pods until ResourceClaim ns/nope exists"},
		"there":             {waits("p", "there", time.Hour), ""},
		"missing, just now": {waits("p", "nope", time.Second), ""},
		"missing, reported": {waits("p", "nope", time.Minute, testkit.Refused("0/4 nodes")), "0/4 nodes"},
	} {
		v := &View{Pods: []corev1.Pod{*tc.pod}}
		if err := v.ReadRefusals(t.Context(), kube); err != nil {
			t.Fatal(err)
		}
		w := testkit.Expected("Deployment", "d", 1, testkit.Acc)
		var r WorkloadReport
		r.checkPods(&w, 1, []*corev1.Pod{tc.pod}, map[string]bundle.NodeKind{}, "", LiveWorkload{}, v)
		got := ""
		if len(r.Pending) > 0 {
			got = r.Pending[0].Message
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
