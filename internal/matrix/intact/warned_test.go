package intact

import (
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What the API server warns of has an ID and an object, so that it can be ignored, and the template's line; the objects of one
// text are one warning. An object that no chart renders has a name only.
func TestServerWarnings(t *testing.T) {
	const template = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  size: big\n"
	b := &bundle.Bundle{Installs: []bundle.Install{{Release: bundle.Release{Name: "c"}, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "c"}, Templates: []*chart.File{{Name: "templates/w.yaml", Data: []byte(template)}}}}}}
	for _, name := range []string{"w", "v"} {
		b.Expectation.Objects = append(b.Expectation.Objects, bundle.Object{
			Object: testkit.Parsed(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: x, name: "+name+"}, spec: {size: big}}"), Component: "c", Release: "c", Template: "c/templates/w.yaml",
		})
	}
	got := ServerWarnings(b, nil, []infra.WarningGroup{{Text: "spec.size: is deprecated", Objects: []string{"Widget x/w", "Widget x/v"}}, {Text: "odd", Objects: []string{"ClusterThing a"}}})
	if len(got) != 2 {
		t.Fatalf("got %+v", got)
	}
	ref := func(name string) result.Ref {
		return result.Ref{Group: "example.com", Kind: "Widget", Namespace: "x", Name: name}
	}
	one := got[0]
	if one.Check != "MX948" || one.Component != "c" || *one.Object != ref("w") || !reflect.DeepEqual(one.Others, []result.Ref{ref("v")}) ||
		!strings.HasPrefix(one.Cause, "the API server warns of Widget x/w and 1 more: spec.size: is deprecated (") || !strings.Contains(one.Cause, "set in c/templates/w.yaml") {
		t.Errorf("of a chart: got %+v", one)
	}
	if other := got[1]; *other.Object != (result.Ref{Kind: "ClusterThing", Name: "a"}) || other.Cause != "the API server warns of ClusterThing a: odd" {
		t.Errorf("of no chart: got %+v", other)
	}
}
