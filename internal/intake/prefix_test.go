package intake

import (
	"strings"
	"testing"
)

func TestPrefix_Of(t *testing.T) {
	for _, tc := range []struct{ components, releases, want string }{
		{"nfd gpu-operator", "team-nfd team-gpu-operator team-gpu-operator-post", "team-"},
		{"nfd gpu-operator", "nfd gpu-operator", ""},
		{"nfd gpu-operator", "nfd my-gpu-operator", ""},
		{"operator gpu-operator", "a-operator a-gpu-operator", "a-"}, // not a-gpu-
		{"nfd gpu-operator aws-efa", "x-nfd x-gpu-operator", "x-"},   // one was left out
		{"nfd gpu-operator aws-efa", "x-nfd", ""},                    // it may be any other bundle
		{"nfd gpu-operator", "x-nfd y-gpu-operator", ""},             // not one for all
		{"nfd", "", ""},
		{"", "team-nfd", ""},
	} {
		if got := prefixOf(strings.Fields(tc.components), strings.Fields(tc.releases)); got != tc.want {
			t.Errorf("%s of %s: got %q, want %q", tc.releases, tc.components, got, tc.want)
		}
	}
}
