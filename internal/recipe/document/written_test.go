package document

import (
	"fmt"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1.10": "1.10", "0123": "0123", "1e5": "1e5", "0x1F": "0x1F", "1_000": "1_000", "1.0": "1.0", "+1": "+1",
		"1.1": "", "10": "", "'1.10'": "", `"1.10"`: "", "v1.10": "", "1.10.1": "", "true": "", "": "", "[1.10]": "",
	} {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte("a: "+text), &n); err != nil {
			t.Fatal(err)
		}
		tree := TreeOf(n.Content[0], Origin{File: "f"}, &Problems{})
		if got := tree.Origins()["a"].Written; got != want {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

// A number in a list, and in a map of one, has its own line and its path from the list.
func TestListed(t *testing.T) {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte("a:\n  - tag: 1.10\n  - '1.10'\n  - [0123, 7]\nb: [1, 2]\n"), &n); err != nil {
		t.Fatal(err)
	}
	var p Problems
	origins := TreeOf(n.Content[0], Origin{File: "f"}, &p).Origins()
	if origins["b"].Listed != nil || origins["a"].Listed == nil {
		t.Fatalf("got %+v", origins)
	}
	value := []any{map[string]any{"tag": 1.1}, "1.10", []any{83, 7}}
	var got []string
	for _, number := range *origins["a"].Listed {
		v, ok := number.Value(value)
		got = append(got, fmt.Sprintf("%s:%d %s %v %v", number, number.Line, number.Written, v, ok))
	}
	if want := []string{"[0].tag:2 1.10 1.1 true", "[2][0]:4 0123 83 true"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if _, ok := (*origins["a"].Listed)[1].Value(value[:1]); ok {
		t.Error("a list without the item has it")
	}
}
