package lane

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
)

// Definitions are never read: the kinds of their groups are, until each is there, and not again. One that never comes, or that no
// version serves, is left to Helm, and so is what is no definition.
func TestEstablished(t *testing.T) {
	var mu sync.Mutex
	asked, never := map[string]int{}, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[req.URL.Path]++
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, APIResources: []metav1.APIResource{{Name: "firsts"}, {Name: "seconds"}, {Name: "seconds/status"}}}
		if req.URL.Path == "/apis/b/v2" {
			list.APIResources = nil
			switch {
			case asked[req.URL.Path] == 1:
				http.NotFound(w, req)
				return
			case asked[req.URL.Path] > 2 && !never:
				list.APIResources = []metav1.APIResource{{Name: "lates"}}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	version := apiextv1.SchemeGroupVersion
	client, err := rest.UnversionedRESTClientFor(&rest.Config{Host: server.URL, APIPath: "/apis", ContentConfig: resource.UnstructuredPlusDefaultContentConfig()})
	if err != nil {
		t.Fatal(err)
	}
	definition := func(group, plural string) *resource.Info {
		return &resource.Info{Client: client, Mapping: &meta.RESTMapping{GroupVersionKind: version.WithKind("CustomResourceDefinition")}, Object: &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"group": group, "names": map[string]any{"plural": plural}, "versions": []any{map[string]any{"name": "v1", "served": group == "a"}, map[string]any{"name": "v2", "served": group != "none"}}},
		}}}
	}
	if !established(time.Minute, kube.ResourceList{definition("a", "firsts"), definition("a", "seconds"), definition("b", "lates"), definition("a", "firsts")}) {
		t.Error("four that are established are left to Helm")
	}
	if want := map[string]int{"/apis/a/v1": 2, "/apis/b/v2": 3}; !maps.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	never = true
	if established(200*time.Millisecond, kube.ResourceList{definition("b", "lates")}) {
		t.Error("one that is not established is not left to Helm")
	}
	clear(asked)
	other := definition("a", "firsts")
	other.Mapping.GroupVersionKind.Group = "apps"
	for name, list := range map[string]kube.ResourceList{"another kind": {other}, "nothing": nil, "one that no version serves": {definition("none", "firsts")}} {
		if established(time.Minute, list) || len(asked) > 0 {
			t.Errorf("%s is not left to Helm, or is asked about: %v", name, asked)
		}
	}
}
