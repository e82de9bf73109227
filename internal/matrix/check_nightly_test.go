//go:build nightly

package matrix

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/checks"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// An API server says of every object what it refuses and drops, also of one whose definition comes with the bundle, and before
// anything is delivered. A recipe without a mistake has none.
func TestNightlyCheckServed(t *testing.T) {
	r := stackRunner(t)
	infratest.Slots(t, 1)
	tiny := newTinyRecipe()
	tiny.use(t, r)
	plan := func() Plan { return plansOf(t, r, "tiny", deployers(t, bundle.Helm)...)[0] } // a new one: what it renders is rendered once
	if c := r.Check(t.Context(), plan(), true); c.Err != nil || len(c.Warnings) != 0 {
		t.Fatalf("a good recipe: got %v, the warnings %q", c.Err, c.Warnings)
	}
	tiny.part("a").crds = map[string]string{"widget.yaml": strings.Replace(widgetCRD, "x-kubernetes-preserve-unknown-fields: true", "properties: {spec: {type: object, properties: {size: {type: integer}}}}", 1)}
	tiny.part("b").add("widget.yaml", "apiVersion: faults.example.com/v1\nkind: Widget\nmetadata: {name: one}\nspec: {size: big}\n")
	tiny.part("b").add("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 808080}]}\n")
	tiny.part("b").add("large.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata: {a: "+strings.Repeat("x", 1<<20+1)+"}\n")
	tiny.part("b").edit("replicas: 1", "replicaz: 1")
	tiny.use(t, r)
	if c := r.Check(t.Context(), plan(), false); c.Err != nil {
		t.Fatalf("without an API server: got %v", c.Err)
	}
	v := result.VerdictOf(r.Check(t.Context(), plan(), true).Err)
	var causes []string
	for _, f := range v.Findings {
		causes = append(causes, f.Check+" "+f.Path+" "+f.Cause)
	}
	text := strings.Join(causes, "\n")
	for _, want := range []string{
		`MX949 spec.ports[0].port Service b/web (b): the API server refuses it: Service "web" is invalid: [spec.ports[0].port: Invalid value: 808080`,
		`MX949 [] ConfigMap b/large (b): the API server refuses it: ConfigMap "large" is invalid: []: Too long: may not be more than 1048576 bytes`,
		`MX949 spec.size Widget.faults.example.com b/one (b): the API server refuses it: `, `MX950 spec.replicaz Deployment b/b (b): the API server dropped field "spec.replicaz"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s\nwant %s", text, want)
		}
	}
	if v.Reason != reason.DeployFailed || len(v.Findings) != 4 {
		t.Errorf("got %s with %d findings:\n%s", v.Reason, len(v.Findings), text)
	}
	ignores, err := judge.NewIgnores(checks.All(), []string{"MX949=Service/b/web", "MX949=Widget/b/one", "MX949=ConfigMap/b/large", "MX950=Deployment/b/b"}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	r.Bench = &judge.Bench{Checks: checks.All(), Ignore: ignores}
	if c := r.Check(t.Context(), plan(), true); c.Err != nil {
		t.Errorf("all of it ignored: got %v", c.Err)
	}
	wantNothingOf(t, r)
}
