package document

import (
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
