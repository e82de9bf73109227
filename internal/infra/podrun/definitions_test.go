package podrun

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	discoveryfake "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/infra"
)

// A program starts once the API server serves the kinds that were just created: one that looks what
// there is when it starts would leave such a kind out.
func TestAwaitKinds(t *testing.T) {
	for name, c := range map[string]struct {
		age    time.Duration
		served []string
		want   string
	}{
		"served":                 {0, []string{"widgets"}, ""},
		"not served":             {0, nil, "widgets.example.com was just created, and the API server does not serve its kind yet"},
		"another of its group":   {0, []string{"gadgets"}, "widgets is not in example.com/v1"},
		"never accepted, so old": {time.Minute, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com", "uid": "u"},
				"spec": map[string]any{"group": "example.com", "names": map[string]any{"plural": "widgets"}, "versions": []any{map[string]any{"name": "v1", "served": true}, map[string]any{"name": "v1alpha1", "served": false}}},
			}}
			d.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-c.age)))
			scheme := metadatafake.NewTestScheme()
			if err := metav1.AddMetaToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			meta := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}, ObjectMeta: metav1.ObjectMeta{Name: d.GetName(), UID: "u", CreationTimestamp: d.GetCreationTimestamp()}}
			known := &discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{}}
			if c.served != nil {
				list := &metav1.APIResourceList{GroupVersion: "example.com/v1"}
				for _, name := range c.served {
					list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
				}
				known.Resources = append(known.Resources, list)
			}
			r := &Runner{kinds: definitions{
				metadata:  metadatafake.NewSimpleMetadataClient(scheme, meta),
				dynamic:   dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{infra.CRDResource: "CustomResourceDefinitionList"}, d),
				discovery: known, served: map[types.UID]bool{},
			}}
			err := r.awaitKinds(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if known := r.kinds.served["u"]; known != (c.want == "" && c.age == 0) {
				t.Errorf("it counts as served: %v", known)
			}
		})
	}
}
