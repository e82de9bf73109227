package intake

import (
	"reflect"
	"testing"
)

// A null takes a value of the chart away, as Helm has it for values beside the chart; one of which the chart has none stays.
func TestNullified(t *testing.T) {
	own := map[string]any{"a": 1, "map": map[string]any{"x": 1, "w": 2}, "none": nil, "list": []any{1}}
	got := nullified(map[string]any{"a": nil, "map": map[string]any{"x": nil, "w": 2, "new": nil}, "none": nil, "list": []any{nil}, "other": map[string]any{"x": nil}}, own)
	want := map[string]any{"map": map[string]any{"w": 2, "new": nil}, "none": nil, "list": []any{nil}, "other": map[string]any{"x": nil}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
