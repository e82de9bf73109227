package argoapi

import (
	"fmt"
	"testing"
)

func TestImageOf(t *testing.T) {
	for text, want := range map[string]string{
		"web:2":                           "map[name:web newTag:2]",
		"host:5000/web":                   "map[name:host:5000/web]",
		"web=host:5000/other:3":           "map[name:web newName:host:5000/other newTag:3]",
		"web@sha256:aa":                   "map[digest:sha256:aa name:web]",
		"example.com/web=example.org/web": "map[name:example.com/web newName:example.org/web]",
	} {
		if got := fmt.Sprint(imageOf(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
