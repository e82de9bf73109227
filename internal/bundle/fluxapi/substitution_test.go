package fluxapi

import (
	"os"
	"strings"
	"testing"
)

// Replace has the defaults of the pinned kustomize-controller. With another minor version, read the table of gates
// in its internal/features, and what generator.SubstituteVariables is called with.
func TestReplace_PinnedVersion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../kwok/stack/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "github.com/fluxcd/kustomize-controller v1.9.") {
		t.Error("the stack has another kustomize-controller than 1.9, whose gate StrictPostBuildSubstitutions is on")
	}
}
