package gate

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// An object whose name a template generates is not missing once Argo CD has it under another name. One that
// Argo CD does not have at all is, as is one whose name nothing generates.
func TestNotRendered_ArgoCD(t *testing.T) {
	const random = "name: run-{{ randAlpha 5 }}"
	for name, tc := range map[string]struct {
		template, status, kind, has string
		want                        bool
	}{
		"another name":   {random, "Synced", "ConfigMap", "run-b", true},
		"nothing":        {random, "Synced", "Secret", "run-b", false},
		"not synced":     {random, "OutOfSync", "ConfigMap", "run-b", false},
		"a fixed name":   {"name: run-a", "Synced", "ConfigMap", "run-b", false},
		"it is there":    {random, "Synced", "ConfigMap", "run-a", false},
		"another's name": {random, "Synced", "ConfigMap", "known", false},
	} {
		app := testkit.Parsed(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {namespace: argocd, name: b}, status: {sync: {status: `+tc.status+`}, resources: [{version: v1, kind: `+tc.kind+`, namespace: ns, name: `+tc.has+`}]}}`)
		object := func(name string) bundle.Object {
			return bundle.Object{Release: "b", Template: "b/templates/x.yaml", Object: testkit.Parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: `+name+`}}`)}
		}
		b := &bundle.Bundle{Installs: []bundle.Install{{Release: bundle.Release{Name: "b"}, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "b"}, Templates: []*chart.File{{Name: "templates/x.yaml", Data: []byte(tc.template)}}}}}}
		b.Expectation.Objects = []bundle.Object{object("run-a"), object("known")}
		env := &lane.Env{Cell: result.Cell{Deployer: bundle.ArgoCDOCI}, Bundle: b, Clients: &infra.Clients{Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), app)}}
		got, err := notRendered(t.Context(), env, b.Expectation.Objects[:1])
		if err != nil || (len(got) == 1) != tc.want {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}
