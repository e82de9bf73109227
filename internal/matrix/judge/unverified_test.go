package judge

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
)

// What several objects need, and only operators make, is one note, and no finding.
func TestUnverified(t *testing.T) {
	e := &bundle.Expectation{}
	for _, name := range []string{"a", "b"} {
		e.Objects = append(e.Objects, bundle.Object{Component: "c", Object: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "x"}}}})
	}
	x := facts.New(e, nil, nil, nil)
	gate := Check{ID: "MX001", Run: func(s *Scope) {
		for _, o := range s.Rendered() {
			s.Unverified(o, "readiness gate warm", "may be set by a program", "never becomes ready", "never become ready")
		}
	}}
	found, err := (&Bench{Checks: []Check{gate}}).Judge(x, "r", Order{}, Rendered)
	if err != nil {
		t.Fatal(err)
	}
	d := newDocket(x)
	for _, p := range found {
		d.Add(p)
	}
	r := d.Report()
	if want := []string{"readiness gate warm may be set by a program; without it Pod x/a and 1 more never become ready"}; !slices.Equal(r.Notes, want) || len(r.Warnings)+len(r.Faults)+len(r.Findings) > 0 {
		t.Errorf("got %+v, want the notes %q and nothing else", r, want)
	}
}
