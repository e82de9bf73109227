package owners

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle/documents"
)

// Definitions that two releases own are compared by their schemas, which the expectation otherwise
// drops. A difference in their comments does not count.
func TestSharedDefinitions(t *testing.T) {
	crd := func(name, comment, field string) string {
		return fmt.Sprintf(`# %s
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {%s: {type: integer, default: 0}}}}
`, comment, name, field)
	}
	var objects []Object
	for _, o := range []struct{ release, text string }{
		{"a", crd("widgets.example.com", "of a", "size")},
		{"a", crd("same.example.com", "of a", "size")},
		{"a", crd("own.example.com", "of a", "size")},
		{"b", crd("widgets.example.com", "of b", "weight")},
		{"b", crd("same.example.com", "of b", "size")},
	} {
		found, err := documents.Parse(o.text)
		if err != nil || len(found) != 1 {
			t.Fatalf("%d objects, %v", len(found), err)
		}
		objects = append(objects, Object{Release: o.release, Object: found[0], Definition: o.text})
	}
	isShared, got, err := Find(objects)
	want := []string{"a and b both own CustomResourceDefinition same.example.com, CustomResourceDefinition widgets.example.com (with different content)"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if want := []bool{true, true, false, true, true}; !slices.Equal(isShared, want) {
		t.Errorf("shared are %v, want %v", isShared, want)
	}
	whole, err := objects[3].Whole()
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(whole.Object); len(text) <= len(fmt.Sprint(objects[3].Object.Object)) {
		t.Errorf("the whole definition has no more than its head: %s", text)
	}
}
