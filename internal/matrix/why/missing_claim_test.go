package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A pod of a ResourceClaim that does not exist has an edit, as other pods that the scheduler does not try.
func TestMissingClaim(t *testing.T) {
	claim := "nope"
	pod := testkit.Pod("p", "", "", "", func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Minute))
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim}}
	})
	v := &observe.View{Pods: []corev1.Pod{*pod}}
	if err := v.ReadRefusals(t.Context(), fake.NewClientset()); err != nil {
		t.Fatal(err)
	}
	e := explainPods([]observe.PodFacts{observe.FactsOf(pod)}, nil, v)
	if !slices.ContainsFunc(e.Edits, func(edit string) bool { return strings.HasPrefix(edit, "add ResourceClaim nope to namespace ns") }) {
		t.Errorf("edits %q", e.Edits)
	}
}
