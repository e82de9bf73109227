package rendering

// documents.go makes objects of the YAML documents that charts render. It must not know
// charts, deployers or clusters.

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

var crdKind = regexp.MustCompile(`(?m)^kind:\s*["']?CustomResourceDefinition["']?\s*$`)

// isCRD reports whether a document is a CustomResourceDefinition, of which Parse keeps only the
// head. Without its name a document need not be searched for the line.
func isCRD(doc string) bool {
	return strings.Contains(doc, "CustomResourceDefinition") && crdKind.MatchString(doc)
}

// ParseDocuments gives the object of one YAML document, the items of a List, or nothing for an empty
// document.
func ParseDocuments(doc string) ([]*unstructured.Unstructured, error) {
	if err := yamlx.Check([]byte(doc)); err != nil {
		return nil, err
	}
	if isCRD(doc) {
		return parseCRD(doc)
	}
	return ParseWhole(doc)
}

// ParseWhole is Parse without its checks and its exception: a CustomResourceDefinition with its schemas.
func ParseWhole(doc string) ([]*unstructured.Unstructured, error) {
	raw, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		return nil, err
	}
	if bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	var m map[string]any
	// Kubernetes' own JSON decoder keeps whole numbers whole, as unstructured objects must have
	// them.
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("not an object: %w", err)
	}
	if len(m) == 0 {
		return nil, nil
	}
	obj := &unstructured.Unstructured{Object: m}
	if obj.GetAPIVersion() == "" || obj.GetKind() == "" {
		return nil, fmt.Errorf("an object without apiVersion or kind")
	}
	if obj.IsList() {
		list, err := obj.ToList()
		if err != nil {
			return nil, err
		}
		var out []*unstructured.Unstructured
		for i := range list.Items {
			if err := documentsTexts(&list.Items[i]); err != nil {
				return nil, err
			}
			out = append(out, &list.Items[i])
		}
		return out, nil
	}
	if obj.GetName() == "" {
		if name, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "name"); name != nil && name != "" {
			return nil, fmt.Errorf("%s whose metadata.name is no text, but %v: YAML reads y, n, on, off and numbers as other values unless they are in quotes", obj.GetKind(), name)
		}
		if obj.GetGenerateName() == "" {
			return nil, fmt.Errorf("%s without metadata.name", obj.GetKind())
		}
		if !RunsAtSync(obj.GetAnnotations()) {
			return nil, unnamed(obj)
		}
		obj.SetName(obj.GetGenerateName() + namedBySync(obj.GetAnnotations()))
	}
	if err := documentsTexts(obj); err != nil {
		return nil, err
	}
	return []*unstructured.Unstructured{obj}, nil
}

// unnamed is the error of an object that has metadata.generateName alone.
func unnamed(o *unstructured.Unstructured) error {
	if RunsAtSync(o.GetAnnotations()) {
		return fmt.Errorf("%s with metadata.generateName %s and without metadata.name is a hook of Argo CD, which makes a name for it; Helm and Flux do not: run it in a lane of Argo CD (-d argocd-git), or give it one", o.GetKind(), o.GetGenerateName())
	}
	return fmt.Errorf("%s with metadata.generateName %s and without metadata.name: Helm and Flux look objects up by their names, and Argo CD makes a name for hooks only; give it one", o.GetKind(), o.GetGenerateName())
}

// crdHead is the part of a CustomResourceDefinition that is kept. The schemas make up megabytes of
// some charts, and this program does not use them.
type crdHead struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name        string
		Labels      map[string]string
		Annotations map[string]string
	}
	Spec struct {
		Group    string
		Scope    string
		Names    struct{ Kind, Plural, Singular string }
		Versions []struct {
			Name            string
			Served, Storage bool
		}
		// Conversion is kept whole: the API server calls its webhook.
		Conversion map[string]any
	}
}

func parseCRD(doc string) ([]*unstructured.Unstructured, error) {
	var head crdHead
	if err := yamlv3.Unmarshal([]byte(doc), &head); err != nil {
		return nil, err
	}
	if head.Metadata.Name == "" {
		return nil, fmt.Errorf("CustomResourceDefinition without metadata.name")
	}
	var versions []any
	for _, v := range head.Spec.Versions {
		versions = append(versions, map[string]any{"name": v.Name, "served": v.Served, "storage": v.Storage})
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": head.APIVersion,
		"kind":       head.Kind,
		"metadata":   map[string]any{"name": head.Metadata.Name},
		"spec": map[string]any{
			"group":    head.Spec.Group,
			"scope":    head.Spec.Scope,
			"names":    map[string]any{"kind": head.Spec.Names.Kind, "plural": head.Spec.Names.Plural, "singular": head.Spec.Names.Singular},
			"versions": versions,
		},
	}}
	if head.Spec.Conversion != nil {
		conversion, err := asJSON(head.Spec.Conversion)
		if err == nil {
			err = unstructured.SetNestedField(obj.Object, conversion, "spec", "conversion")
		}
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: read its conversion: %w", head.Metadata.Name, err)
		}
	}
	obj.SetLabels(head.Metadata.Labels)
	obj.SetAnnotations(head.Metadata.Annotations)
	return []*unstructured.Unstructured{obj}, nil
}

// asJSON is a value with the types that unstructured objects must have.
func asJSON(v map[string]any) (map[string]any, error) {
	text, err := yaml.Marshal(v)
	if err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(raw, &out)
}
