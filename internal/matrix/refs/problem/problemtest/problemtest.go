// Package problemtest reads the objects of the checks' tests.
package problemtest

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/documents"
)

// Objects reads the documents of a text, one object each, which are between lines of ---. They are of a component.
func Objects(t testing.TB, component, text string) (all []bundle.Object) {
	t.Helper()
	for _, doc := range strings.Split(strings.TrimPrefix(strings.TrimSuffix(text, "---\n"), "---\n"), "---\n") {
		objects, err := documents.Parse(doc)
		if err != nil || len(objects) != 1 {
			t.Fatalf("%v, %d objects in %s", err, len(objects), doc)
		}
		all = append(all, bundle.Object{Component: component, Object: objects[0]})
	}
	return all
}
