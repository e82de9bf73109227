package intake

import (
	"slices"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// A null counts where the chart has a default.
func TestOf(t *testing.T) {
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal([]byte("a: {b: null, c: 1}\nd: ~\ne: null\nf: null\ng: {h: null}\ni: null\n"), &doc); err != nil {
		t.Fatal(err)
	}
	defaults := map[string]any{"a": map[string]any{"b": 2}, "d": "text", "e": nil, "f": false, "g": 3, "i": map[string]any{}}
	var got []string
	for _, n := range of(doc.Content[0], defaults, "", func(line int) recipe.Origin { return recipe.Origin{Line: line} }) {
		got = append(got, n.path)
	}
	if want := []string{"a.b", "d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
