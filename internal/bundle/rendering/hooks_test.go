package rendering

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/render"
)

// An object whose hook is misspelt is in no release of Helm's, which says so only in a log.
func TestRelease_UnknownHook(t *testing.T) {
	renderer := &render.Renderer{}
	defer renderer.Close()
	for _, test := range []struct{ hook, want string }{
		{"post-instal", `c/charts/d/templates/a.yaml:6: "post-instal" is no hook`},
		{`"pre-install,pre-upgarde"`, `c/charts/d/templates/a.yaml:6: "pre-upgarde" is no hook`},
		{`{{ printf "%s" "early" }}`, `"early" is no hook`},
		{"null", `"" is no hook`},
		{"Pre-Install , post-upgrade", ""},
		{"test-success", ""},
		{"crd-install", ""}, // Helm 2
	} {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    \"helm.sh/hook\": " + test.hook + "\n    helm.sh/hook-weight: \"1\"\n"
		d := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "d", Version: "1.0.0"}, Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(text)}}}
		c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}}
		c.AddDependency(d)
		_, err := Release(t.Context(), renderer, render.Request{Chart: c, Name: "c", Namespace: "c", KubeVersion: "v1.36.1"}, false)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.hook, err, test.want)
		}
	}
}

// A hook without a name runs in Argo CD's lanes alone, where it may have any name.
func TestRelease_HookWithoutName(t *testing.T) {
	renderer := &render.Renderer{}
	defer renderer.Close()
	const text = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: migrate-\n  annotations: {argocd.argoproj.io/hook: PreSync}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}\n"
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(text)}}}
	r := render.Request{Chart: c, Name: "c", Namespace: "c", KubeVersion: "v1.36.1"}
	out, err := Release(t.Context(), renderer, r, true)
	if err != nil || len(out.Objects) != 1 || out.Objects[0].GetName() != "migrate-0000000-presync-0" || !out.Objects[0].Ephemeral {
		t.Errorf("in Argo CD: got %+v, %v", out, err)
	}
	other, err := Release(t.Context(), renderer, r, false)
	if err == nil {
		err = other.Unnamed
	}
	_, _, applied := Files(t.Context(), renderer, r, nil)
	for lane, err := range map[string]error{"Helm": err, "kubectl": applied} {
		if err == nil || !strings.Contains(err.Error(), "c/templates/a.yaml: Job with metadata.generateName migrate-") {
			t.Errorf("%s: got %v", lane, err)
		}
	}
}
