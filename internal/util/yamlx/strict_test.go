package yamlx

import (
	"slices"
	"testing"
)

func TestDecodeNode(t *testing.T) {
	type inner struct {
		A int `yaml:"a"`
	}
	type more struct {
		B int `yaml:"b"`
	}
	type outer struct {
		more `yaml:",inline"`
		List []inner        `yaml:"list"`
		One  *inner         `yaml:"one"`
		Free map[string]any `yaml:"free"`
		Not  string         `yaml:"-"`
	}
	for name, c := range map[string]struct {
		text string
		want []Problem
	}{
		"fine":              {"list: [{a: 1}]\none: {a: 2}\nfree: {x: {y: 1}}\nb: 1\n", nil},
		"unknown":           {"free: {}\nlst: []\n", []Problem{{2, `unknown field "lst"; there are: b, list, one, free`}}},
		"unknown in a list": {"list:\n- a: 1\n- b: 1\n", []Problem{{3, `unknown field "b"; there are: a`}}},
		"behind an alias":   {"list:\n- &x {c: 1}\none: *x\n", []Problem{{2, `unknown field "c"; there are: a`}, {2, `unknown field "c"; there are: a`}}},
		"a wrong type":      {"one:\n  a: text\n", []Problem{{2, "cannot unmarshal !!str `text` into int"}}},
		"not for a file":    {"Not: x\n", []Problem{{1, `unknown field "Not"; there are: b, list, one, free`}}},
	} {
		docs, err := Documents([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := DecodeNode(docs[0].Content[0], &outer{}); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
