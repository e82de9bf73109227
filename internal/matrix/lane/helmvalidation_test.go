package lane

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/validation"
)

// ownFactory is Helm's factory; its validator counts its input.
type ownFactory struct {
	kube.Factory
	config    *rest.Config
	validated *int
}

func (f ownFactory) DynamicClient() (dynamic.Interface, error) { return dynamic.NewForConfig(f.config) }
func (f ownFactory) Validator(string) (validation.Schema, error) {
	return countingSchema{f.validated}, nil
}

type countingSchema struct{ validated *int }

func (s countingSchema) ValidateBytes([]byte) error { *s.validated++; return nil }

// An API server is asked once for all releases whether it validates fields. If it does not, each
// object goes through Helm's own validator.
func TestOnceAsked(t *testing.T) {
	for _, row := range []struct {
		name, parameter string
		validated       int // by Helm's own validator
	}{
		{"validates fields", "fieldValidation", 1}, // the List
		{"does not", "dryRun", 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			var documents atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch r.URL.Path {
				case "/openapi/v3":
					_, _ = io.WriteString(w, `{"paths": {"apis/coordination.k8s.io/v1": {"serverRelativeURL": "/openapi/v3/apis/coordination.k8s.io/v1"}}}`)
				case "/openapi/v3/apis/coordination.k8s.io/v1":
					documents.Add(1)
					_, _ = fmt.Fprintf(w, `{"openapi": "3.0.0", "paths": {"/lease": {"patch": {"parameters": [{"name": %q, "in": "query"}],
						"x-kubernetes-group-version-kind": {"group": "coordination.k8s.io", "version": "v1", "kind": "Lease"}}}}}`, row.parameter)
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(server.Close)
			config := &rest.Config{Host: server.URL}
			found := func() (discovery.CachedDiscoveryInterface, error) {
				client, err := discovery.NewDiscoveryClientForConfig(config)
				return memory.NewMemCacheClient(client), err
			}
			validated, client := 0, &HelmClient{}
			for _, objects := range [][]string{ // two releases
				{`{"apiVersion": "v1", "kind": "Pod"}`, `{"apiVersion": "example.com/v1", "kind": "Widget"}`},
				{`{"apiVersion": "apps/v1", "kind": "Deployment"}`, `{"apiVersion": "v1", "kind": "Pod"}`, `{"apiVersion": "v1", "kind": "List", "items": []}`},
			} {
				schema, err := onceAsked{ownFactory{config: config, validated: &validated}, found, &client.validates}.Validator("Strict")
				if err != nil {
					t.Fatal(err)
				}
				for _, object := range objects {
					if err := schema.ValidateBytes([]byte(object)); err != nil {
						t.Error(err)
					}
				}
			}
			if validated != row.validated {
				t.Errorf("Helm's own validator was given %d objects, want %d", validated, row.validated)
			}
			if got := documents.Load(); got != 1 {
				t.Errorf("the API server was asked for its document %d times, want once", got)
			}
		})
	}
}

// If Helm validates nothing, e.g. for deletions, the API server is not asked, and objects are not
// read.
func TestOnceAsked_IgnoredFields(t *testing.T) {
	validated, client := 0, &HelmClient{}
	client.validates.once.Do(func() { client.validates.yes = true })
	schema, err := onceAsked{ownFactory{validated: &validated}, nil, &client.validates}.Validator(metav1.FieldValidationIgnore)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.ValidateBytes([]byte("no object")); err != nil || validated != 1 {
		t.Errorf("got %v, and Helm's own validator was given %d objects, want 1", err, validated)
	}
}
