package addons

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
)

// definition is a CRD whose one version has these properties of spec.
func definition(t *testing.T, version, properties string) *unstructured.Unstructured {
	t.Helper()
	all, err := infra.DecodeObjects([]byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: jobs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Job, plural: jobs}
  versions:
    - name: ` + version + `
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, ` + properties + `}}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// What a program cannot do without is missed; what it can is not.
func TestLacking(t *testing.T) {
	const wanted = `properties: {count: {type: integer, default: 1}, none: {type: string, default: ""}, list: {type: array, items: {type: object, properties: {kind: {type: string, default: A}}}}, template: {type: object, properties: {x: {type: string, default: y}}}}`
	want := definition(t, "v1", wanted)
	notServed, scope, noStatus := definition(t, "v1", wanted), definition(t, "v1", wanted), definition(t, "v1", wanted)
	versions, _, _ := unstructured.NestedSlice(notServed.Object, "spec", "versions")
	versions[0].(map[string]any)["served"] = false
	if err := unstructured.SetNestedSlice(notServed.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	versions, _, _ = unstructured.NestedSlice(noStatus.Object, "spec", "versions")
	delete(versions[0].(map[string]any), "subresources")
	if err := unstructured.SetNestedSlice(noStatus.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(scope.Object, "Cluster", "spec", "scope"); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		have *unstructured.Unstructured
		want string
	}{
		"the same":        {want, ""},
		"another version": {definition(t, "v2", wanted), "version v1"},
		"not served":      {notServed, "version v1"},
		"another scope":   {scope, "the scope Namespaced"},
		"no status":       {noStatus, "the subresource status"},
		"a field":         {definition(t, "v1", strings.Replace(wanted, "count", "size", 1)), "the field spec.count"},
		"a default":       {definition(t, "v1", strings.Replace(wanted, ", default: 1", "", 1)), "the default 1 of spec.count"},
		"another default": {definition(t, "v1", strings.Replace(wanted, "default: A", "default: B", 1)), `the default "A" of spec.list[].kind`},
		"a stand-in": {definition(t, "v1", "x-kubernetes-preserve-unknown-fields: true, properties: {count: {type: integer, default: 1}, list: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {kind: {type: string, default: A}}}}}"),
			""},
		"a stand-in without defaults": {definition(t, "v1", "x-kubernetes-preserve-unknown-fields: true"), `the default 1 of spec.count, the default "A" of spec.list[].kind`},
	} {
		got, err := lacking(tt.have, want)
		if err != nil || strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, tt.want)
		}
	}
}

// A definition that the cluster has stays as it is; one that the program cannot work with is an error that names it, and one that is missing is noticed.
func TestDefined(t *testing.T) {
	want := definition(t, "v1", "properties: {count: {type: integer, default: 1}}")
	runner := func(have ...runtime.Object) (*Runner, *dynamicfake.FakeDynamicClient) {
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{infra.CRDResource: "CustomResourceDefinitionList"}, have...)
		return &Runner{Clients: &infra.Clients{Dynamic: client}, Only: "jobs"}, client
	}
	s := Scheduler{Name: trainer, version: "v9"}
	r, _ := runner()
	if there, err := r.defined(t.Context(), s, want); there || err != nil {
		t.Errorf("missing: got %t, %v", there, err)
	}
	r, client := runner(want.DeepCopy())
	if there, err := r.defined(t.Context(), s, want); !there || err != nil {
		t.Errorf("the same: got %t, %v", there, err)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("the recipe's definition was touched: %v", a)
		}
	}
	r, _ = runner(definition(t, "v2", "properties: {}"))
	if there, err := r.defined(t.Context(), s, want); there || err == nil || !strings.Contains(err.Error(), "the recipe's definition jobs.example.com does not serve trainer v9, which needs: version v1. Install that version") {
		t.Errorf("another version: got %t, %v", there, err)
	}
}

// In a cell, webhooks are dialled at their port, for one namespace only.
func TestDialDirectly(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"webhooks": []any{map[string]any{
		"name": "a", "clientConfig": map[string]any{"caBundle": "PEM", "service": map[string]any{"name": "s", "namespace": "n", "path": "/mutate"}},
	}}}}
	if err := dialDirectly(o, 4711, "probes"); err != nil {
		t.Fatal(err)
	}
	all, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	webhook := all[0].(map[string]any)
	url, _, _ := unstructured.NestedString(webhook, "clientConfig", "url")
	authority, _, _ := unstructured.NestedString(webhook, "clientConfig", "caBundle")
	_, service, _ := unstructured.NestedMap(webhook, "clientConfig", "service")
	only, _, _ := unstructured.NestedString(webhook, "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name")
	if url != "https://127.0.0.1:4711/mutate" || service || only != "probes" || authority != "PEM" {
		t.Errorf("got %v", webhook)
	}
	r := &Runner{Only: "probes", Webhooks: []int{4711, 4712}, Ports: host.NewPorts(t.TempDir())}
	for i, want := range []int{4711, 4712} {
		if ports, err := r.webhookPorts(Scheduler{}); err != nil || len(ports) != 2 || ports[0] != want || len(r.taken) != i+1 {
			t.Errorf("got the ports %v, %v; of its own %v", ports, err, r.taken)
		}
	}
	if _, err := r.webhookPorts(Scheduler{}); err == nil {
		t.Error("a third program has a port that the API server may not dial")
	}
	r.Ports.Release(r.taken...)
}

// A controller is described with what it needs.
func TestJob(t *testing.T) {
	if got := (Scheduler{Name: trainer, version: "v2"}).Job(); got.String() != "Kubeflow Trainer v2" || !slices.Equal(got.Groups, []string{"trainer.kubeflow.org"}) || !slices.Equal(got.Needs, []string{jobSet}) {
		t.Errorf("got %+v", got)
	}
	if got := (Scheduler{Name: jobSet, version: "v0"}).Job(); got.String() != "JobSet v0" || !slices.Equal(got.Groups, []string{"jobset.x-k8s.io"}) || len(got.Needs) > 0 {
		t.Errorf("got %+v", got)
	}
}
