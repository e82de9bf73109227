package argoapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	names := strings.Fields("apps/a.yaml apps/b.yml apps/c.json apps/README.md apps/drafts/d.yaml apps/team/x/e.yaml")
	for directory, want := range map[string]string{
		"{}":              "apps/a.yaml apps/b.yml apps/c.json",
		"{recurse: true}": "apps/a.yaml apps/b.yml apps/c.json apps/drafts/d.yaml apps/team/x/e.yaml",
		"{recurse: true, exclude: '{drafts/*,*.json}'}":        "apps/a.yaml apps/b.yml apps/team/x/e.yaml",
		"{recurse: true, include: '*/e.yaml'}":                 "apps/team/x/e.yaml",
		"{recurse: true, include: '*.yaml', exclude: 'team*'}": "apps/a.yaml apps/drafts/d.yaml",
	} {
		got, err := DirectoryFiles(names, "apps", node(t, directory), object)
		if err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: got %q, %v; want %q", directory, got, err, want)
		}
	}
	if _, err := DirectoryFiles(names, "apps", node(t, "{exclude: '[a'}"), object); err == nil || !strings.Contains(err.Error(), `directory.exclude: "[a" is no pattern`) {
		t.Errorf("got %v", err)
	}
}

func object(string) ([]byte, error) { return []byte("{kind: A, apiVersion: v1}"), nil }

// A file has objects, has none, or is an error, as for Argo CD's own repo-server (3.5.7), which was given these.
func TestFiles_Content(t *testing.T) {
	t.Parallel()
	const a = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for text, want := range map[string]string{
		a: "read", "a.yaml # nothing\n": "", a + "---\n---\nnull\n": "read", "size: 1\n": "", "just text\n": "", "a: {{ b }}\n  - c\n": "", "# +argocd:skip-file-rendering\n" + a: "",
		"apiVersion: v1\nkind: List\nitems: []\n": "read", "size: 1\n---\n" + a: "1: a document without", a + "---\nsize: 1\n": "5: a document without", a + "data:\n\tx: 1\n": "5: ",
		"kind: ConfigMap\nmetadata: {name: a}\n": "1: a ConfigMap without apiVersion",
		`{"name": "x", "scripts": {}}`:           "1: this JSON is no object", `[{"apiVersion": "v1", "kind": "ConfigMap"}]`: "1: this JSON is no object", `{"apiVersion": "v1", "kind": "ConfigMap"}`: "read",
	} {
		name := "a.yaml"
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			name = "a.json"
		}
		files, err := DirectoryFiles([]string{name}, ".", nil, func(string) ([]byte, error) { return []byte(text), nil })
		got := ""
		if wrong := (*DirectoryError)(nil); errors.As(err, &wrong) {
			got = fmt.Sprintf("%d: %v", wrong.Line, err)
		} else if len(files) == 1 {
			got = "read"
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if _, err := DirectoryFiles([]string{"a.jsonnet"}, ".", nil, object); err == nil || !strings.Contains(err.Error(), "Jsonnet") {
		t.Errorf("Jsonnet: got %v", err)
	}
}

func node(t *testing.T, text string) *yamlv3.Node {
	t.Helper()
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content[0]
}
