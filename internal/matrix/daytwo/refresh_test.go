package daytwo

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What Argo CD's next hard refresh changes is one line for each release, with what rolls, the hook
// that stays behind, and the template that makes it.
func TestRefreshed(t *testing.T) {
	object := func(text string, hook bool) bundle.Object {
		return bundle.Object{Component: "b", Release: "b", Template: "b/templates/secret.yaml", Hook: hook, Object: testkit.Parsed(t, text)}
	}
	b := &bundle.Bundle{
		Expectation: bundle.Expectation{Releases: []bundle.Release{{Name: "a"}, {Name: "b"}}, Objects: []bundle.Object{
			object(`{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: b}}`, false),
			object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: b, namespace: b}}`, false),
			object(`{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: b}}`, true),
		}},
		Installs: []bundle.Install{{Release: bundle.Release{Name: "b"}, Chart: &chart.Chart{
			Metadata:  &chart.Metadata{Name: "b"},
			Templates: []*chart.File{{Name: "templates/secret.yaml", Data: []byte("kind: Secret\npassword: {{ randAlphaNum 16 }}\n")}},
		}}},
	}
	if !IsUnsteady(b) {
		t.Error("a chart with randAlphaNum is steady")
	}
	token, web, ca := result.Ref{Kind: "Secret", Namespace: "b", Name: "token"}, result.Ref{Group: "apps", Kind: "Deployment", Namespace: "b", Name: "b"}, result.Ref{Kind: "Secret", Namespace: "b", Name: "ca"}
	got := Refreshed(b, map[result.Ref][]string{token: {"data.password"}, web: {`spec.template.metadata.annotations["checksum/secret"]`}, ca: {"data.ca"}})
	if len(got) != 1 {
		t.Fatalf("got %v, want one line", got)
	}
	testkit.WantText(t, "line", got[0].Cause, "b: a hard refresh of Argo CD changes Secret b/token data.password", "Deployment", "b/b rolls", "Secret b/ca is a hook", "(b/templates/secret.yaml:2 uses randAlphaNum)")
	if none := Refreshed(b, map[result.Ref][]string{ca: {"data.ca"}}); len(none) != 0 {
		t.Errorf("only a hook: got %q", none)
	}
}
