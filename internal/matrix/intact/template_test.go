package intact

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
)

// Of several objects of one kind in a template, the line is that of the object's own document.
func TestLineOf(t *testing.T) {
	const text = "kind: Service\nmetadata: {name: a}\nspec: {clusterIP: None}\n---\n\nkind: Service\nmetadata: {name: b}\nspec:\n  externalIPs: [x]\n---\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\n"
	for name, lines := range map[string]map[string]int{"a": {"clusterIP": 3, "externalIPs": 1}, "b": {"externalIPs": 9, "clusterIP": 6}, "rendered": {"externalIPs": 11, "name": 13}} {
		objects, err := rendering.ParseDocuments("apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\n")
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range lines {
			if got := lineOf(text, &bundle.Object{Object: objects[0]}, key); got != want {
				t.Errorf("%s of Service %s: got line %d, want %d", key, name, got, want)
			}
		}
	}
}

// A format that the API server does not know is found in the schemas of the definition.
func TestFormatIn(t *testing.T) {
	const text = "kind: ConfigMap\nmetadata: {name: a}\n---\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n  versions:\n  - name: v1\n    schema: {openAPIV3Schema: {properties: {spec: {properties: {when: {format: date-time},\n      sizes: {items: {additionalProperties: {format: quantity}}}}}}}}\n"
	objects, err := rendering.ParseDocuments("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n")
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]struct {
		path string
		line int
	}{"quantity": {"v1.spec.sizes[].*", 10}, "uint16": {"", 0}} {
		if path, line := formatIn(text, &bundle.Object{Object: objects[0]}, format); path != want.path || line != want.line {
			t.Errorf("%s: got %s, line %d, want %v", format, path, line, want)
		}
	}
	if m := unknownFormat.FindStringSubmatch(`unrecognized format "quantity"`); m == nil || m[1] != "quantity" {
		t.Errorf("got %q", m)
	}
}

// The field that the API server calls deprecated leads to its line.
func TestLeading(t *testing.T) {
	for text, want := range map[string]string{
		`spec.externalIPs is deprecated and may no longer be implemented in some clusters`: "externalIPs",
		`spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`:      "trafficDistribution",
		`policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+`:                       "",
	} {
		got := ""
		if m := leading.FindStringSubmatch(text); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
