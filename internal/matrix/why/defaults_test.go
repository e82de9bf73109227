package why

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// Default values are tried that have a name of the field, at the place where a person would set them, and none that the recipe sets.
func TestDefaultPaths(t *testing.T) {
	defaults := map[string]any{
		"affinity":   map[string]any{},
		"controller": map[string]any{"affinity": map[string]any{"nodeAffinity": map[string]any{"x": 1}}, "image": "a"},
		"webhook":    map[string]any{"Affinity": map[string]any{"y": 1}},
		"worker":     map[string]any{"affinity": map[string]any{"z": 1}},
		"a.b":        map[string]any{"affinity": map[string]any{"z": 1}},
	}
	c := &recipe.Component{Origins: map[string]recipe.Origin{"worker.affinity": {File: "a", Line: 1}}}
	if got := defaultPaths(defaults, []string{"affinity", ""}, c); !slices.Equal(got, []string{"controller.affinity", "webhook.Affinity"}) {
		t.Errorf("got %q", got)
	}
	values := map[string]any{"controller": map[string]any{"image": "b"}, "text": "t"}
	putDefault(values, []string{"controller", "affinity"}, nil)
	putDefault(values, []string{"new", "affinity"}, "x")
	putDefault(values, []string{"text", "affinity"}, "x")
	if got := fmt.Sprint(values); got != "map[controller:map[affinity:<nil> image:b] new:map[affinity:x] text:t]" {
		t.Errorf("got %s", got)
	}
}
