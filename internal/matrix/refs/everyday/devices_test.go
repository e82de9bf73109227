package everyday

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestRequested(t *testing.T) {
	template := "gpus"
	for request, want := range map[string]string{
		"":          "",
		"one":       "",
		"one/large": "",
		"two":       "container main takes request two of claim gpu, and ResourceClaimTemplate x/gpus has no such request (it has one)",
	} {
		e := &bundle.Expectation{
			Objects: []bundle.Object{{Object: testkit.Parsed(t, "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpus, namespace: x}, spec: {spec: {devices: {requests: [{name: one}]}}}}")}},
			Workloads: []bundle.Workload{{Kind: "Deployment", Namespace: "x", Name: "web", PodSpec: corev1.PodSpec{
				ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}},
				Containers:     []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu", Request: request}}}}},
			}}},
		}
		got := ""
		for _, p := range Find(e, Cluster{}) {
			got += p.Text
		}
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q: got %q, want %q", request, got, want)
		}
	}
}
