package argoapi

import (
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal([]byte("metadata: {name: stack}\nspec: {sources: [{path: web, helm: {valueFiles: [$v/a.yaml]}}, {path: plain}, {chart: redis, helm: {releaseName: own}}, {ref: v, path: extra}]}"), &doc); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range SplitSources(doc.Content[0], func(s *yamlv3.Node) bool { return yamlx.Text(s, "path") != "plain" }) {
		text, err := yamlx.Encode([]*yamlv3.Node{n})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join(strings.Fields(string(text)), " "))
	}
	want := []string{
		"metadata: {name: stack} spec: {sources: [{path: web, helm: {valueFiles: [$v/a.yaml], releaseName: stack}}, {ref: v}]}",
		"metadata: {name: stack-2} spec: {sources: [{path: plain}]}",
		"metadata: {name: stack-3} spec: {sources: [{chart: redis, helm: {releaseName: own}}]}",
		"metadata: {name: stack-4} spec: {sources: [{path: extra, helm: {releaseName: stack}}]}",
	}
	norm := func(all []string) string {
		return strings.NewReplacer(" ", "", "'", "", "\"", "").Replace(strings.Join(all, "\n"))
	}
	if norm(got) != norm(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
