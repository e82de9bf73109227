package yamlx

import (
	"errors"
	"io"
	"slices"
	"testing"
)

func TestDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		want  int
		fails bool
	}{
		"nothing":          {"", 0, false},
		"a comment":        {"# only\n", 0, false},
		"one":              {"a: 1\n", 1, false},
		"two":              {"a: 1\n---\nb: 2\n", 2, false},
		"the second fails": {"a: 1\n---\nb: [\n", 1, true},
	} {
		docs, err := Documents([]byte(c.text))
		if len(docs) != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %d documents, %v", name, len(docs), err)
		}
	}
}

func TestDecodeStrict(t *testing.T) {
	for text, want := range map[string][]Problem{
		"a: x\nb: 1\n":    {{2, "field b not found in type struct { A string }"}},
		"a: x\na: y\n":    {{2, `mapping key "a" already defined at line 1`}},
		"a: [1]\nb: 1\n":  {{1, "cannot unmarshal !!seq into string"}, {2, "field b not found in type struct { A string }"}},
		"a: 1\nb: c: 2\n": {{2, "mapping values are not allowed in this context"}},
	} {
		var v struct{ A string }
		err := DecodeStrict([]byte(text), &v)
		if err == nil {
			t.Errorf("%q was accepted", text)
		} else if got := Problems(err); !slices.Equal(got, want) {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
	var v struct{ A string }
	if err := DecodeStrict(nil, &v); !errors.Is(err, io.EOF) {
		t.Errorf("an empty file: %v", err)
	}
	if err := DecodeStrict([]byte("a: x\n"), &v); err != nil || v.A != "x" {
		t.Errorf("got %q, %v", v.A, err)
	}
}
