package simulate

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/nvidia/aicr-action/kwok"
)

func shippedStages(t *testing.T) []OperatorStage {
	t.Helper()
	stages, err := LoadOperatorStages(kwok.Files, "stages/operators")
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

// Each shipped stage writes its status once for each generation, and then has nothing to do.
func TestOperatorStages(t *testing.T) {
	want := map[string]string{
		"ClusterPolicy": `"state":"ready"`, "NVIDIADriver": `"state":"ready"`, "Skyhook": `"status":"complete"`, "Config": `"type":"Available"`, "SchedulingShard": `"type":"Available"`,
		"NicClusterPolicy": `"state":"ready"`, "GatewayClass": `"type":"Accepted"`, "Gateway": `"attachedRoutes":0`, "ClusterQueue": `"type":"Active"`,
	}
	stages := shippedStages(t)
	if len(stages) != len(want) {
		t.Errorf("%d stages, want %d", len(stages), len(want))
	}
	player := newStagePlayer(stages)
	for _, s := range stages {
		t.Run(s.Kind.Kind, func(t *testing.T) {
			cr := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{
				"listeners": []any{map[string]any{"name": "http"}}, // a Gateway's
			}}}
			cr.SetGroupVersionKind(s.Kind)
			for generation := int64(1); generation <= 2; generation++ {
				cr.SetGeneration(generation)
				data, err := player.patch(t.Context(), cr)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(data), want[s.Kind.Kind]) {
					t.Fatalf("generation %d: got %s, want %s", generation, data, want[s.Kind.Kind])
				}
				var patch map[string]any
				if err := utiljson.Unmarshal(data, &patch); err != nil {
					t.Fatal(err)
				}
				cr.Object["status"] = patch["status"]
				if data, err := player.patch(t.Context(), cr); err != nil || data != nil {
					t.Fatalf("generation %d, again: got %s, %v; it would go on for ever", generation, data, err)
				}
			}
		})
	}
	paused := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "skyhook.nvidia.com/v1alpha1", "kind": "Skyhook", "metadata": map[string]any{"name": "x", "generation": int64(1)}, "spec": map[string]any{"pause": true},
	}}
	if data, err := player.patch(t.Context(), paused); err != nil || data != nil {
		t.Errorf("a paused Skyhook: got %s, %v; want no answer", data, err)
	}
}

func TestOperatorStages_Invalid(t *testing.T) {
	good, err := fs.ReadFile(kwok.Files, "stages/operators/skyhook.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"unknown field":  {"  steps:", "  stepps: []\n  steps:", `unknown field "stepps"`},
		"core kind":      {"skyhook.nvidia.com/v1alpha1", "v1", "of a custom resource"},
		"not the status": {"      subresource: status\n", "", "subresource status"},
		"two steps":      {"  steps:\n", "  steps:\n  - delete: true\n", "want one step"},
		"a variable":     {"{{ .metadata.generation }}", `{{ env "HOME" }}`, `function "env" not defined`},
		"variables":      {"{{ .metadata.generation }}", `{{ expandenv "$HOME" }}`, `function "expandenv" not defined`},
		"a host":         {"{{ .metadata.generation }}", `{{ getHostByName "localhost" }}`, `function "getHostByName" not defined`},
		"delete":         {"  - patch:", "  - delete: true\n    ignored:", "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(string(good), c.from, c.to, 1)
			_, err := LoadOperatorStages(fstest.MapFS{"s/a.yaml": {Data: []byte(text)}}, "s")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "s/a.yaml") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := LoadOperatorStages(fstest.MapFS{"s/a.yaml": {Data: good}, "s/b.yaml": {Data: good}}, "s"); err == nil || !strings.Contains(err.Error(), "already has the stage s/a.yaml") {
		t.Errorf("the same kind twice: got %v", err)
	}
}
