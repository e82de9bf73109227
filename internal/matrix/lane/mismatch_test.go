package lane

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestMismatch(t *testing.T) {
	want := []Delivery{HelmDelivery("ns", "a", "a", "1.0.0", "deployed"), HelmDelivery("ns", "b", "b", "2.0.0", "deployed")}
	for name, tc := range map[string]struct {
		got  []Delivery
		says []string
	}{
		"as it should be": {want, nil},
		"missing":         {want[:1], []string{"Helm release ns/b: missing (expected chart b, version 2.0.0, status deployed)"}},
		"one too many":    {append(want[:2:2], HelmDelivery("x", "c", "c", "3", "failed")), []string{"Helm release x/c: unexpected (found chart c, version 3, status failed)"}},
		"another version": {[]Delivery{want[0], HelmDelivery("ns", "b", "b", "2.0.1", "deployed")}, []string{"Helm release ns/b: version: want 2.0.0, got 2.0.1"}},
		"another chart, not deployed": {
			[]Delivery{HelmDelivery("ns", "a", "z", "1.0.0", "pending-install"), want[1]},
			[]string{"Helm release ns/a: chart: want a, got z", "Helm release ns/a: status: want deployed, got pending-install"},
		},
		"another namespace": {
			[]Delivery{want[0], HelmDelivery("other", "b", "b", "2.0.0", "deployed")},
			[]string{"Helm release ns/b: missing (expected chart b", "Helm release other/b: unexpected (found"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := Mismatch(want, tc.got)
			if f == nil {
				f = &result.Failure{}
			}
			testkit.WantEach(t, "details", f.Details(), tc.says)
			if len(tc.says) > 0 {
				testkit.WantText(t, "cause", f.Cause(), tc.says[0])
			}
		})
	}
}

// A component that is lost on the way from the recipe to the expectation, or comes from nowhere, is
// seen.
func TestRecipeMismatch(t *testing.T) {
	const doc = `
componentRefs:
  - {name: web, namespace: web, chart: example/web, version: v1.4.0}
  - {name: tuning, namespace: tuning, manifestFiles: [a.yaml]}
  - {name: "off", overrides: {enabled: false}}
  - {name: database, overrides: {install: false}}
`
	web := bundle.Release{Component: "web", Name: "web", Namespace: "web", Chart: "web", ChartVersion: "1.4.0"}
	post := bundle.Release{Component: "web", Name: "web-post", Namespace: "web", Chart: "web-post", ChartVersion: "0.1.0", Local: true}
	tuning := bundle.Release{Component: "tuning", Name: "tuning", Namespace: "tuning", Chart: "tuning", ChartVersion: "0.1.0", Local: true}
	newer := web
	newer.ChartVersion = "1.5.0"
	for name, tc := range map[string]struct {
		doc      string
		releases []bundle.Release
		want     string
	}{
		"the same":     {doc, []bundle.Release{web, post, tuning}, ""},
		"one lost":     {doc, []bundle.Release{web}, "component tuning: missing (expected namespace tuning"},
		"one too many": {doc, []bundle.Release{web, tuning, {Component: "ghost", Name: "ghost"}}, "component ghost: unexpected (found"},
		"disabled":     {doc, []bundle.Release{web, tuning, {Component: "off", Name: "off"}}, "component off: unexpected (found"},
		"version":      {doc, []bundle.Release{newer, tuning}, "component web: version: want v1.4.0, got 1.5.0"},
		"no recipe":    {"", []bundle.Release{web}, "names no component"},
	} {
		t.Run(name, func(t *testing.T) {
			f := RecipeMismatch(&bundle.Bundle{Files: []bundle.File{{Path: "recipe.yaml", Content: []byte(tc.doc)}}, Expectation: bundle.Expectation{Releases: tc.releases}})
			if (f != nil) != (tc.want != "") {
				t.Fatalf("got %v, want %q", f, tc.want)
			}
			if f != nil {
				testkit.WantText(t, "cause", f.Cause(), tc.want)
			}
		})
	}
}
