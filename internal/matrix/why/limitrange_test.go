package why

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A request that a LimitRange fills in is not the template's.
func TestExplain_LimitRange(t *testing.T) {
	ranges := corev1.LimitRange{ObjectMeta: testkit.ObjectMeta("LimitRange", "defaults"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("900")}}}}}
	pod := wanting(func(p *corev1.Pod) {
		p.Annotations = map[string]string{"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container c"}
		p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("900")}}}}
	})
	nodes := zoned()
	full(nodes, "cpu", "8")
	w := testkit.Expected("Deployment", "web", 1, testkit.Sys)
	w.Template = "b/templates/web.yaml"
	e := explainPod(pod, &w, &observe.View{Nodes: nodes, LimitRanges: []corev1.LimitRange{ranges}, Pods: []corev1.Pod{*pod}})
	if got := e.Groups[0].String(); !strings.Contains(got, "asks for 900 cpu, which LimitRange ns/defaults fills in for container c, has 8") {
		t.Errorf("groups: got %q", got)
	}
	if want := []string{"cpu: the default of LimitRange ns/defaults; container c of the template asks for none"}; !slices.Equal(e.Sources, want) {
		t.Errorf("sources: got %q, want %q", e.Sources, want)
	}
	if want := []string{"lower the default cpu (defaultRequest) of LimitRange ns/defaults to at most 8, or let container c ask for no more than that"}; !slices.Equal(e.Edits, want) {
		t.Errorf("edits: got %q, want %q", e.Edits, want)
	}
}
