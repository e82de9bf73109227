package rendering

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/podspec"
)

// textError is a value that must be text and is a number or a boolean, as YAML reads it without quotes.
// Helm, Argo CD and Flux refuse the object, or the API server does, often without the field.
type textError struct {
	Kind, Name string
	Path       []string
	Value      any
}

func (e *textError) Error() string {
	return fmt.Sprintf("%s %s: %s is no text, but %v: put it in quotes (in a template: | quote)", e.Kind, e.Name, strings.Join(e.Path, "."), e.Value)
}

// documentsTexts checks the fields of Kubernetes' own kinds that are maps of text.
func documentsTexts(obj *unstructured.Unstructured) error {
	paths := [][]string{{"metadata", "labels"}, {"metadata", "annotations"}}
	switch kind := obj.GetKind(); kind {
	case "ConfigMap":
		paths = append(paths, []string{"data"})
	case "Secret":
		paths = append(paths, []string{"data"}, []string{"stringData"})
	case "Service":
		paths = append(paths, []string{"spec", "selector"})
	default:
		if _, ok := podspec.Template(obj); !ok {
			break
		}
		paths = append(paths, []string{"spec", "selector", "matchLabels"})
		for _, field := range []string{"metadata.labels", "metadata.annotations", "spec.nodeSelector"} {
			paths = append(paths, podspec.Path(kind, strings.Split(field, ".")))
		}
	}
	for _, path := range paths {
		found, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
		m, _ := found.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(m)) {
			switch m[key].(type) {
			case bool, int64, float64:
				return &textError{Kind: obj.GetKind(), Name: obj.GetName(), Path: append(slices.Clone(path), key), Value: m[key]}
			}
		}
	}
	return nil
}
