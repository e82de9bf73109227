package daytwo

import (
	"context"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// An autoscaler and a number of pods that it never allows write over each other where Argo CD heals.
func TestScaled(t *testing.T) {
	const scaler = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: b, name: hpa}, spec: {minReplicas: 2, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`
	for name, tc := range map[string]struct {
		spec, scaler string
		heals, want  bool
	}{
		"below":         {"replicas: 1", scaler, true, true},
		"above":         {"replicas: 6", scaler, true, true},
		"without heal":  {"replicas: 1", scaler, false, false},
		"within":        {"replicas: 3", scaler, true, false},
		"none":          {"", scaler, true, false},
		"off":           {"replicas: 0", scaler, true, false},
		"another's":     {"replicas: 1", strings.Replace(scaler, "name: web", "name: other", 1), true, false},
		"one is enough": {"replicas: 1", strings.Replace(scaler, "minReplicas: 2, ", "", 1), true, false},
	} {
		b := &bundle.Bundle{}
		for _, text := range []string{tc.scaler, `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: b, name: web}, spec: {` + tc.spec + `}}`} {
			b.Expectation.Objects = append(b.Expectation.Objects, bundle.Object{Component: "b", Release: "b", Template: "b/templates/web.yaml", Object: testkit.Parsed(t, text)})
		}
		_, err := HardRefresh{Heals: tc.heals, Again: func(context.Context) ([]bundle.Object, error) { return nil, nil }}.Check(t.Context(), b, nil)
		if got := reason.Of(err) == reason.NeverSettles; got != tc.want {
			t.Errorf("%s: got %v", name, err)
		}
		if v := result.VerdictOf(err); tc.want && (!strings.Contains(v.Cause, "keeps Deployment b/web between 2 and 5 pods") || !strings.Contains(strings.Join(v.Details, "\n"), "leave replicas out of b/templates/web.yaml")) {
			t.Errorf("%s: got %s\n%q", name, v.Cause, v.Details)
		}
	}
}
