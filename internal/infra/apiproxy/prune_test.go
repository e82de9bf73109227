package apiproxy

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
)

// field is a field of a protobuf message with bytes.
func field(number int, value string) string {
	raw := binary.AppendUvarint(nil, uint64(number)<<3|2)
	return string(binary.AppendUvarint(raw, uint64(len(value)))) + value
}

func TestWithoutPaths(t *testing.T) {
	long := strings.Repeat("x", 70000)
	number := string([]byte{3 << 3, 0x96, 0x01}) // a varint, a fixed64 and a fixed32
	fixed := string([]byte{4<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8}) + string([]byte{5<<3 | 5, 1, 2, 3, 4})
	for name, c := range map[string]struct{ doc, want string }{
		"empty":        {"", ""},
		"all":          {field(1, "2.0") + field(8, long) + number + fixed + field(9, "definitions"), field(1, "2.0") + number + fixed + field(9, "definitions")},
		"twice":        {field(8, "a") + field(9, "b") + field(8, "c"), field(9, "b")},
		"large number": {field(800, "a") + field(8, "b"), field(800, "a")},
	} {
		got, err := withoutPaths([]byte(c.doc))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for name, doc := range map[string]string{
		"no tag": "\xff", "cut": field(8, "abc")[:3], "no length": "\x42", "no value": "\x18\xff", "cut fixed": "\x21\x00", "a group": "\x0b",
		"huge": "\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		if got, err := withoutPaths([]byte(doc)); err == nil {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func FuzzWithoutPaths(f *testing.F) {
	f.Add([]byte(field(1, "a") + field(8, "b")))
	f.Add([]byte("\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		once, err := withoutPaths(doc)
		if err != nil {
			return
		}
		if twice, err := withoutPaths(once); err != nil || string(twice) != string(once) || len(once) > len(doc) {
			t.Errorf("%q: got %q, then %q, %v", doc, once, twice, err)
		}
	})
}

func TestPatchesOnly(t *testing.T) {
	const doc = `{"openapi":"3.0.0","info":{"title":"K"},"components":{"schemas":{"a":{"type":"object"}},"parameters":{"p":{"name":"fieldValidation"}}},
		"paths":{"/a":{"parameters":[{"name":"pretty"}],"get":{"parameters":[{"name":"x"}]},"patch":{"description":"d","parameters":[{"$ref":"#/parameters/p"}],
		"requestBody":{"content":{}},"x-kubernetes-group-version-kind":{"kind":"A"}}},"/b":{"get":{}}}}`
	const want = `{"openapi":"3.0.0","info":{"title":"K"},"paths":{"/a":{"patch":{"parameters":[{"$ref":"#/parameters/p"}],` +
		`"x-kubernetes-group-version-kind":{"kind":"A"}}},"/b":{}},"components":{"parameters":{"p":{"name":"fieldValidation"}}}}`
	got, err := patchesOnly([]byte(doc))
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	if !json.Valid(got) {
		t.Error("it is no JSON")
	}
	if got, err := patchesOnly([]byte("<html>")); err == nil {
		t.Errorf("got %s", got)
	}
}
