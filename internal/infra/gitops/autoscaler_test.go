package gitops

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/health"
)

// Argo CD judges an autoscaler by what a simulated cluster can say: not by its metrics.
func TestAutoscalerHealth(t *testing.T) {
	for _, o := range ArgoCDObjects(health.Policy{}) {
		if o.GetName() != "argocd-cm" {
			continue
		}
		text, _ := o.Object["data"].(map[string]any)["resource.customizations.health.autoscaling_HorizontalPodAutoscaler"].(string)
		for _, part := range []string{"FailedGetScale", "FailedUpdateScale", "workload[obj.spec.scaleTargetRef.kind]", "return hs"} {
			if !strings.Contains(text, part) {
				t.Errorf("got %q, want %s in it", text, part)
			}
		}
		for _, part := range []string{"Metric\"", "InvalidSelector", "string.", "io."} {
			if strings.Contains(text, part) {
				t.Errorf("got %q: %s counts, or is no part of Argo CD's Lua", text, part)
			}
		}
		return
	}
	t.Error("there is no argocd-cm")
}
