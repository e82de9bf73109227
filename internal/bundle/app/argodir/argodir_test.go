package argodir

import (
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
		got, err := Files(names, "apps", node(t, directory))
		if err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: got %q, %v; want %q", directory, got, err, want)
		}
	}
	if _, err := Files(names, "apps", node(t, "{exclude: '[a'}")); err == nil || !strings.Contains(err.Error(), `directory.exclude: "[a" is no pattern`) {
		t.Errorf("got %v", err)
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
