package publish

import (
	"context"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// A client that unpacks a pushed archive must stay in its directory, for any names that a recipe or
// a chart gives its files.
func TestPack_PathTraversal(t *testing.T) {
	for _, name := range []string{"../x", "/etc/x", "a/../../x", ""} {
		for _, deployer := range []string{bundle.ArgoCDOCI, bundle.FluxOCI} {
			b := goldenBundle(t, deployer)
			b.Files = append(b.Files, bundle.File{Path: name, Mode: 0o644, Content: []byte("x")})
			if _, err := PublishBundle(context.Background(), b, "127.0.0.1:1/aicr/demo:x", Own()); err == nil || strings.Contains(err.Error(), "127.0.0.1:1: ") {
				t.Errorf("%s with a file %q: got %v", deployer, name, err)
			}
		}
		ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Raw: []*chart.File{{Name: name, Data: []byte("x")}}}
		if _, err := PackChart(ch); err == nil || !strings.Contains(err.Error(), "leads out of the archive") {
			t.Errorf("a chart with a file %q: got %v", name, err)
		}
	}
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "..", Version: "1.0.0"}, Raw: []*chart.File{{Name: "Chart.yaml", Data: []byte("x")}}}
	if _, err := PackChart(ch); err == nil {
		t.Error("a chart whose name leads out was packed")
	}
}
