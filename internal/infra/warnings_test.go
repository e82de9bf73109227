package infra

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// An API server that warns of everything: of what is written it is kept, once, with the object; of
// what is read it is not.
func TestWarnings(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Warning", `299 - "unknown field \"spec.sizee\""`)
		w.Header().Add("Warning", `299 - "v1 Widget is deprecated"`)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"x"}}`))
	}))
	defer server.Close()
	var warnings Warnings
	cfg := &rest.Config{Host: server.URL, WarningHandler: rest.NoWarnings{}}
	warnings.Watch(cfg)
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	widgets := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).Namespace("x")
	if _, err := widgets.Get(t.Context(), "w", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := warnings.Len(); n != 0 {
		t.Errorf("%d warnings of a read, want none", n)
	}
	for _, name := range []string{"w", "v", "w"} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name}}}
		if _, err := widgets.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	trial := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "trial"}}}
	if _, err := widgets.Create(t.Context(), trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	want := []WarningGroup{{`unknown field "spec.sizee"`, []string{"Widget x/w", "Widget x/v"}}, {"v1 Widget is deprecated", []string{"Widget x/w", "Widget x/v"}}}
	if got := warnings.Grouped(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := warnings.Grouped("Widget x/w"); len(got) != 2 || !slices.Equal(got[0].Objects, []string{"Widget x/v"}) {
		t.Errorf("without one: got %q", got)
	}
	if since := warnings.Since(2); len(since) != 2 || !since[0].UnknownField() || since[1].UnknownField() || since[0].String() != `Widget x/v: unknown field "spec.sizee"` {
		t.Errorf("after the first object's: got %v", since)
	}
	var none *Warnings
	if none.Watch(cfg); none.Len() != 0 || none.Grouped() != nil {
		t.Error("a nil collector has warnings")
	}
}
