package refs

// objects_test.go reads the objects of the checks' tests.

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
)

// caseObjects reads the documents of a text, one object each, which are between lines of ---. They are of a component.
func caseObjects(t testing.TB, component, text string) (all []bundle.Object) {
	t.Helper()
	for _, doc := range strings.Split(strings.TrimPrefix(strings.TrimSuffix(text, "---\n"), "---\n"), "---\n") {
		objects, err := rendering.ParseDocuments(doc)
		if err != nil || len(objects) != 1 {
			t.Fatalf("%v, %d objects in %s", err, len(objects), doc)
		}
		all = append(all, bundle.Object{Component: component, Object: objects[0]})
	}
	return all
}
