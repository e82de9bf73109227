package lane

import (
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/kubectl/pkg/validation"
)

// serverValidates records whether an API server validates fields itself. It is asked once, for all
// releases of a cell.
type serverValidates struct {
	once sync.Once
	yes  bool
}

// askedKind is small in OpenAPI, and every API server has it. A server validates the fields of all
// kinds or of none: kubectl, too, asks about Namespace if it does not find a kind.
var askedKind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

// onceAsked is Helm's factory with a shortcut. Before Helm sends an object, kubectl's code checks
// for each kind, in each release, whether the API server validates fields, and decodes the OpenAPI
// document of the kind's whole group each time. That took a seventh of the harness's CPU time in a
// helm cell. If the API server validates, onceAsked validates no kind. If it does not, or cannot be
// asked, Helm's own validation is used.
type onceAsked struct {
	kube.Factory
	discovery func() (discovery.CachedDiscoveryInterface, error)
	server    *serverValidates
}

// Validator implements kube.Factory.
func (f onceAsked) Validator(directive string) (validation.Schema, error) {
	own, err := f.Factory.Validator(directive)
	if err != nil || directive == metav1.FieldValidationIgnore || !f.asked() { // Helm's own validator ignores it too
		return own, err
	}
	return validation.NewParamVerifyingSchema(own, supported{}, directive), nil
}

func (f onceAsked) asked() bool {
	f.server.once.Do(func() {
		dynamic, err := f.DynamicClient()
		if err != nil {
			return
		}
		client, err := f.discovery()
		if err != nil {
			return
		}
		f.server.yes = resource.NewQueryParamVerifierV3(dynamic, client.OpenAPIV3(), resource.QueryParamFieldValidation).HasSupport(askedKind) == nil
	})
	return f.server.yes
}

// supported reports support for every kind except List, which no API server accepts and which
// kubectl validates here.
type supported struct{}

// HasSupport implements resource.Verifier.
func (supported) HasSupport(kind schema.GroupVersionKind) error {
	if kind == (schema.GroupVersionKind{Version: "v1", Kind: "List"}) {
		return resource.NewParamUnsupportedError(kind, resource.QueryParamFieldValidation)
	}
	return nil
}
