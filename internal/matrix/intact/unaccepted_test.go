package intact

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A definition that the API server stores and does not serve is a finding; one that it serves, and
// another kind with such a condition, are none.
func TestUnaccepted(t *testing.T) {
	definition := func(kind, condition string) string {
		return "{apiVersion: apiextensions.k8s.io/v1, kind: " + kind + ", metadata: {name: gizmoz.example.com}, status: {conditions: [{type: Established, status: \"True\"}, " + condition + "]}}"
	}
	for _, c := range []struct{ kind, condition, want string }{
		{"CustomResourceDefinition", `{type: NamesAccepted, status: "False", reason: KindConflict, message: '"Gizmo" is already in use'}`, `CustomResourceDefinition gizmoz.example.com (c): the API server does not serve it: "Gizmo" is already in use (KindConflict)`},
		{"CustomResourceDefinition", `{type: NonStructuralSchema, status: "True", reason: Violations, message: no type}`, "the API server does not serve it: no type (Violations)"},
		{"CustomResourceDefinition", `{type: NamesAccepted, status: "True"}`, ""},
		{"Other", `{type: NamesAccepted, status: "False"}`, ""},
	} {
		live := testkit.Parsed(t, definition(c.kind, c.condition))
		o := bundle.Object{Object: live, Component: "c", Template: "c/templates/x.yaml"}
		var l Losses
		l.Look([]bundle.Object{o}, live, false)
		found, _ := l.Report(Judge{Objects: []bundle.Object{o}})
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || !strings.Contains(found[0].Cause, c.want)) {
			t.Errorf("%s: got %+v, want %q", c.condition, found, c.want)
		}
	}
}
