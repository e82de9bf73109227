package matrix

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/result"
)

// A field that the API server rejects is traced to the value, the file and the line that set it,
// whichever deployer quotes the error: one cause is one root cause.
func TestTraceField(t *testing.T) {
	r := newTinyRecipe()
	nullValue(r)
	r.part("b").values = "first: {limit: 1}\nwidget:\n  size: 1\n  emptyDir: null\nother:\n  text: a"
	r.part("b").edit("    spec:", "    spec:\n      priority: {{ required \"other.text is required\" .Values.other.text | len }}\n      activeDeadlineSeconds: {{ .Values.first.limit }}")
	r.part("b").edit("containers: [{name: main", "containers: [{name: x{{ .Values.other.text }}")
	r.part("c").values = "replicas: 1\nsettings: {mode: fast}"
	r.part("c").manifest = strings.Replace(r.part("c").manifest, "replicas: 1", "replicas: {{ .Values.c.replicas }}", 1)
	runner := unitRunner(t)
	r.use(t, runner)
	plans, err := runner.Plan("tiny", bundle.Deployers())
	if err != nil {
		t.Fatal(err)
	}
	in, err := plans[0].rendering.prepare(t.Context(), plans[0].input)
	if err != nil {
		t.Fatal(err)
	}
	const null = `Widget.faults.example.com "b" is invalid: spec.emptyDir: Invalid value: "null": spec.emptyDir in body must be of type object: "null"`
	for name, tc := range map[string]struct {
		component, cause, path string
		line                   int
	}{
		"Argo CD":                        {"b", "Application b: Widget b/b: " + null, "widget.emptyDir", 4},
		"Flux":                           {"b", "HelmRelease b: InstallFailed: Helm install failed for release b/b with chart b@1.0.0: server-side apply failed for object b/b faults.example.com/v1, Kind=Widget: " + null, "widget.emptyDir", 4},
		"a name of its own":              {"b", `Release b: install chart b 1.0.0: Deployment.apps "b" is invalid: spec.template.spec.activeDeadlineSeconds: Forbidden: must not be set`, "first.limit", 1},
		"a list":                         {"b", `Release b: Deployment.apps "b" is invalid: spec.template.spec.containers[0].name: Invalid value: "xa": no`, "other.text", 6},
		"needed for rendering":           {"b", `Release b: Deployment.apps "b" is invalid: spec.template.spec.priority: Invalid value: 1`, "other.text", 6},
		"manifests only":                 {"c", `Release c: Deployment.apps "c" is invalid: spec.replicas: Invalid value: 1`, "replicas", 1},
		"strict decoding":                {"b", `Release b: install chart b 1.0.0: Widget b/b: unknown field "spec.size"`, "widget.size", 3},
		"typed patch":                    {"b", `Application b: error building typed value: .spec.size: field not declared in schema`, "widget.size", 3},
		"a value of another type":        {"b", `Release b: install chart b 1.0.0: Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field WidgetSpec.spec.size of type string`, "widget.size", 3},
		"of another type than that":      {"b", `Release b: install chart b 1.0.0: Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal string into Go struct field WidgetSpec.spec.size of type string`, "", 0},
		"the chart's own":                {"b", `Release b: Deployment.apps "b" is invalid: spec.replicas: Invalid value: 1`, "", 0},
		"another component":              {"a", "Application a: " + null, "", 0},
		"no field":                       {"b", "Application b: connection refused", "", 0},
		"what the API server says of it": {"b", "Release b: " + strings.ReplaceAll(null, `"null"`, `{"a":"[spec.size: Invalid value"}`), "widget.emptyDir", 4},
	} {
		t.Run(name, func(t *testing.T) {
			f := result.Finding{Cause: tc.cause, Component: tc.component}
			why.TraceField(t.Context(), in, bundle.FluxOCI, &f)
			if f.Place.Path != tc.path || f.Place.Line != tc.line || tc.path != "" && !strings.HasSuffix(f.Place.File, "components/"+tc.component+"/values.yaml") {
				t.Errorf("got %+v, want %s in line %d", f.Place, tc.path, tc.line)
			}
			if told := strings.Join(f.Story, "\n"); tc.path != "" && !strings.Contains(told, ": value path "+tc.path+", set in ") {
				t.Errorf("story %q", told)
			}
		})
	}
}
