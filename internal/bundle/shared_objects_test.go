package bundle

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
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
	var objects []ownedObject
	for _, o := range []struct{ release, text string }{
		{"a", crd("widgets.example.com", "of a", "size")},
		{"a", crd("same.example.com", "of a", "size")},
		{"a", crd("own.example.com", "of a", "size")},
		{"b", crd("widgets.example.com", "of b", "weight")},
		{"b", crd("same.example.com", "of b", "size")},
	} {
		found, err := rendering.ParseDocuments(o.text)
		if err != nil || len(found) != 1 {
			t.Fatalf("%d objects, %v", len(found), err)
		}
		objects = append(objects, ownedObject{Release: o.release, Object: found[0], Definition: o.text})
	}
	isShared, got, err := findOwners(objects)
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

// A dependency that a chart has under two names brings each file of crds/ twice.
func TestDefinitionsTwice(t *testing.T) {
	text := func(size string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec: {group: example.com, versions: [{name: v1, schema: {openAPIV3Schema: {type: object, maxProperties: " + size + "}}}]}\n"
	}
	for name, c := range map[string]struct {
		second string
		before bool
		want   []string
	}{
		"the same":          {"1", true, nil},
		"another":           {"2", true, []string{"a has CustomResourceDefinition widgets.example.com twice in crds/, with different content: Helm and Flux keep the first one, and Argo CD the last one"}},
		"one in a template": {"1", false, []string{"a makes CustomResourceDefinition widgets.example.com twice: Argo CD keeps the last one, and Helm and Flux reject the chart"}},
	} {
		var objects []ownedObject
		for i, size := range []string{"1", c.second} {
			found, err := rendering.ParseDocuments(text(size))
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, ownedObject{Release: "a", Object: found[0], Definition: text(size), Before: i == 0 || c.before})
		}
		if _, got, err := findOwners(objects); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, c.want)
		}
	}
}
