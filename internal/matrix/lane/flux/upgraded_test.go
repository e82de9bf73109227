package flux

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// A HelmRelease whose newest release has the content of before is not upgraded, although it is
// Ready.
func TestHasContent(t *testing.T) {
	artifacts := map[string]*unstructured.Unstructured{"c": testkit.Parsed(t, `{apiVersion: v1, kind: ExternalArtifact, metadata: {name: c}, status: {artifact: {revision: "latest@sha256:abcdef0123456789"}}}`)}
	for version, want := range map[string]bool{"1.0.0+abcdef012345": true, "1.0.0+x.abcdef012345": true, "1.0.0+ffffff012345": false, "1.0.0": true} {
		hr := testkit.Parsed(t, `{apiVersion: v1, kind: HelmRelease, metadata: {name: c}, spec: {chartRef: {kind: ExternalArtifact, name: c}}, status: {history: [{chartVersion: "`+version+`"}]}}`)
		if got := hasContent(hr, artifacts); got != want {
			t.Errorf("%s: got %v, want %v", version, got, want)
		}
	}
}
