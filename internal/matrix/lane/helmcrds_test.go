package lane

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
)

// Each definition is read until it is established, and no more, neither by this nor by Helm. One that never is is left to Helm, and
// what is no definition is not read at all.
func TestEstablished(t *testing.T) {
	var mu sync.Mutex
	asked, never := map[string]int{}, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := path.Base(req.URL.Path)
		asked[name]++
		if req.URL.Query().Get("resourceVersion") != "0" {
			t.Errorf("%s: not out of the API server's memory", req.URL)
		}
		status := `"True"`
		if name == "late" && (asked[name] < 3 || never) {
			status = `"False"`
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": json.RawMessage(status)}}}})
	}))
	t.Cleanup(server.Close)
	version := apiextv1.SchemeGroupVersion
	client, err := rest.UnversionedRESTClientFor(&rest.Config{Host: server.URL, APIPath: "/apis", ContentConfig: resource.UnstructuredPlusDefaultContentConfig()})
	if err != nil {
		t.Fatal(err)
	}
	definitions := func(names ...string) (all kube.ResourceList) {
		for _, name := range names {
			all = append(all, &resource.Info{Client: client, Name: name, Mapping: &meta.RESTMapping{Resource: version.WithResource("customresourcedefinitions"), GroupVersionKind: version.WithKind("CustomResourceDefinition"), Scope: meta.RESTScopeRoot}})
		}
		return all
	}
	if !established(time.Minute, definitions("first", "late", "last")) {
		t.Error("three that are established are left to Helm")
	}
	if want := map[string]int{"first": 1, "late": 3, "last": 1}; !maps.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	never = true
	if established(200*time.Millisecond, definitions("late")) {
		t.Error("one that is not established is not left to Helm")
	}
	clear(asked)
	other := definitions("x")
	other[0].Mapping.GroupVersionKind.Group = "apps"
	if established(time.Minute, other) || established(time.Minute, nil) || len(asked) > 0 {
		t.Errorf("what is no definition is not left to Helm, or asked about: %v", asked)
	}
}
