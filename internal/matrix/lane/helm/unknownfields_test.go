package helm

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/infra"
)

func TestUnknownFields(t *testing.T) {
	if err := unknownFields([]infra.APIWarning{{Object: "Widget b/b", Text: "v1 Widget is deprecated"}}); err != nil {
		t.Errorf("a deprecated API: got %v, want no error", err)
	}
	err := unknownFields([]infra.APIWarning{{Object: "Widget b/b", Text: "deprecated"}, {Object: "Widget b/b", Text: `unknown field "spec.sizee"`}})
	if err == nil || err.Error() != `Widget b/b: unknown field "spec.sizee" (the API server dropped it)` {
		t.Errorf("got %v", err)
	}
}
