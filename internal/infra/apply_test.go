package infra

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestDecodeObjects(t *testing.T) {
	for _, test := range []struct {
		name, yaml string
		want       string // names, or part of the error
		fails      bool
	}{
		{"none", "", "", false},
		{"empty documents are left out", "---\n---\nmetadata: {name: a}\n---\n# only a comment\n---\nmetadata: {name: b}\n", "a b", false},
		{"JSON", `{"metadata": {"name": "a"}}`, "a", false},
		{"not YAML", "metadata: [", "yaml", true},
		{"not an object", "- a\n- b\n", "unmarshal", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			objs, err := DecodeObjects([]byte(test.yaml))
			if test.fails {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want an error about %q", err, test.want)
				}
				return
			}
			var names []string
			for _, o := range objs {
				names = append(names, o.GetName())
			}
			if err != nil || strings.Join(names, " ") != test.want {
				t.Errorf("got %v, %v; want %s", names, err, test.want)
			}
		})
	}
}

func TestReadObjects(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadObjects(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("an empty directory: got %v", err)
	}
	for name, content := range map[string]string{"b.yaml": "metadata: {name: b}", "a.yaml": "metadata: {name: a}", "c.txt": "["} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objs, err := ReadObjects(dir)
	if err != nil || len(objs) != 2 || objs[0].GetName() != "a" || objs[1].GetName() != "b" {
		t.Errorf("got %v, %v", objs, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadObjects(dir); err == nil || !strings.Contains(err.Error(), "bad.yaml") {
		t.Errorf("got %v, want the file's name", err)
	}
}

func TestCondition(t *testing.T) {
	obj := func(yaml string) *unstructured.Unstructured {
		objs, err := DecodeObjects([]byte("kind: X\n" + yaml))
		if err != nil {
			t.Fatal(err)
		}
		return objs[0]
	}
	for _, test := range []struct{ name, yaml, status, message string }{
		{"no status", "", "", ""},
		{"no conditions", "status: {}", "", ""},
		{"another type", "status: {conditions: [{type: Stalled, status: 'True'}]}", "", ""},
		{"found", "status: {conditions: [{type: Stalled, status: 'False'}, {type: Ready, status: 'True', message: done}]}", "True", "done"},
		{"no message", "status: {conditions: [{type: Ready, status: 'False'}]}", "False", ""},
		{"not a list", "status: {conditions: {Ready: 'True'}}", "", ""},
		{"not a map", "status: {conditions: [Ready]}", "", ""},
		{"status of a wrong type", "status: {conditions: [{type: Ready, status: true}]}", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if status, message := Condition(obj(test.yaml), "Ready"); status != test.status || message != test.message {
				t.Errorf("got %q, %q", status, message)
			}
		})
	}
}

func TestResourceFor(t *testing.T) {
	for kind, want := range map[string]string{
		"Namespace": "namespaces", "StatefulSet": "statefulsets", "Prometheus": "prometheuses", "HelmRepository": "helmrepositories", "Ingress": "ingresses",
	} {
		got := ResourceFor(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: kind})
		if got.Resource != want || got.Group != "g" || got.Version != "v1" {
			t.Errorf("%s: got %v, want %s", kind, got, want)
		}
	}
}

func TestToUnstructuredAndNames(t *testing.T) {
	obj, err := toUnstructured(&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "ns"}, Data: map[string]string{"a": "b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, _, err := unstructured.NestedStringMap(obj.Object, "data")
	if err != nil || obj.GetKind() != "ConfigMap" || data["a"] != "b" {
		t.Errorf("got %v, %v", obj, err)
	}
	if got := NamespacedName(obj.GetNamespace(), obj.GetName()); got != "ns/n" {
		t.Errorf("got %s", got)
	}
	if got := NamespacedName("", "node-1"); got != "node-1" {
		t.Errorf("got %s", got)
	}
	if _, err := toUnstructured(7); err == nil {
		t.Error("a number is not an object")
	}
}
