package daytwo

import (
	"context"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A list in no order is looked for in several renderings, and is a failure though the second delivery was
// the same. What is put in order, only counted, or unsteady for another reason is none.
func TestByLuck(t *testing.T) {
	const object = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: x}, data: {list: `
	for text, want := range map[string]bool{
		`{{ keys .Values.m | join "," }}`:                   true,
		`{{- range (values .Values.m) }}`:                   true,
		`{{ .Values.m | values | join "," }}`:               true,
		`{{ keys .Values.m | sortAlpha | join "," }}`:       false,
		`{{ keys .Values.m | len }}`:                        false,
		`{{ .Values.keys }} {{ $x.values }}`:                false,
		`{{ keys .Values.m | join "," }} {{ randAlpha 5 }}`: false,
		`{{/* keys of */}}`:                                 false,
	} {
		b := &bundle.Bundle{Installs: []bundle.Install{{Release: bundle.Release{Name: "b"}, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "b"}, Templates: []*chart.File{{Name: "templates/x.yaml", Data: []byte("a: b\n" + text)}}}}}}
		b.Expectation.Objects = []bundle.Object{{Release: "b", Component: "b", Template: "b/templates/x.yaml", Object: testkit.Parsed(t, object+"'a,b'}}")}}
		rendered := 0
		var second SecondRendering
		again := func(context.Context) ([]bundle.Object, error) {
			return second.Of(b, func() (bundle.Expectation, error) {
				order := "'a,b'}}"
				if rendered++; rendered == 5 {
					order = "'b,a'}}"
				}
				return bundle.Expectation{Objects: []bundle.Object{{Release: "b", Template: "b/templates/x.yaml", Object: testkit.Parsed(t, object+order)}}}, nil
			})
		}
		err := (&SecondDelivery{Env: &lane.Env{Bundle: b}, Again: again}).byLuck(t.Context())
		if (reason.Of(err) == reason.NeverSettles) != want || want && (rendered != 5 || !strings.Contains(err.Error(), "ConfigMap ns/x is rendered otherwise each time")) {
			t.Errorf("%s: got %v after %d renderings", text, err, rendered)
		}
		if want && !strings.Contains(strings.Join(usesOf(&b.Installs[0], ""), "\n"), "b/templates/x.yaml:2 uses ") {
			t.Errorf("%s: no line is named", text)
		}
	}
}

// What the API server serves is a cause only of charts that ask for it.
func TestCauses_Served(t *testing.T) {
	for text, want := range map[string]string{`{{ if .Capabilities.APIVersions.Has "x/v1" }}`: "likely cause: b/templates/x.yaml:2 uses .Capabilities.APIVersions", "a: b": "Two renderings of the same charts are equal"} {
		b := &bundle.Bundle{Installs: []bundle.Install{{Release: bundle.Release{Name: "b"}, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "b"}, Templates: []*chart.File{{Name: "templates/x.yaml", Data: []byte("a: b\n" + text)}}}}}}
		o := testkit.Parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: x}}`)
		b.Expectation.Objects = []bundle.Object{{Release: "b", Object: o}}
		lines := causes(b, []compare.Change{{Object: lane.Object{GVK: o.GroupVersionKind(), Namespace: "ns", Name: "x"}}}, nil)
		testkit.WantText(t, text, strings.Join(lines, "\n"), want)
	}
}
