package render

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
)

// What Flux does to objects after they are rendered counts for hooks too. A patched object names the patch in
// place of its template.
func TestRelease_Post(t *testing.T) {
	object := func(name string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", annotations: {helm.sh/hook: pre-install}}\nspec: {template: {spec: {containers: [{name: a, image: \"a:1\"}]}}}\n"
	}
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Templates: []*chart.File{
		{Name: "templates/hook.yaml", Data: []byte(object("hook"))},
		{Name: "templates/a.yaml", Data: []byte(strings.Replace(object("plain"), ", annotations: {helm.sh/hook: pre-install}", "", 1))},
	}}
	var r Renderer
	t.Cleanup(r.Close)
	got, err := r.Release(t.Context(), Request{Chart: ch, Name: "c", Namespace: "c", Post: Post{At: "web.yaml:7", Steps: []string{`{"images":[{"name":"a","newTag":"2"}],"patches":[{"target":{"kind":"Job","name":"plain"},"patch":"- {op: add, path: /metadata/labels, value: {b: c}}"}]}`}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Manifest, "# Source: web.yaml:7") || !strings.Contains(got.Manifest, "image: a:2") || !strings.Contains(got.Manifest, "b: c") {
		t.Errorf("got %s", got.Manifest)
	}
	if len(got.Hooks) != 1 || got.Hooks[0].Path != "c/templates/hook.yaml" || !strings.Contains(got.Hooks[0].Manifest, "image: a:2") {
		t.Errorf("got the hooks %v", got.Hooks)
	}
	if _, err := r.Release(t.Context(), Request{Chart: ch, Name: "c", Namespace: "c", Post: Post{At: "web.yaml:7", Steps: []string{`{"patches":[{"target":{"kind":"Job"},"patch":"- {op: replace, path: /no/such, value: 1}"}]}`}}}); err == nil || !strings.Contains(err.Error(), "web.yaml:7, step 1: ") {
		t.Errorf("got %v", err)
	}
}
