package intake

import (
	"strings"
	"testing"
)

func TestDependsOn(t *testing.T) {
	for _, tc := range []struct{ name, on, earlier, want string }{
		{"b", "a", "a a-post a-readiness", "a a-post a-readiness"},
		{"b", "a c", "a", "a"}, // c comes later, or is not there
		{"b-post", "", "a b", "b"},
		{"b-readiness", "", "b-pre b b-post", "b b-post"},
		{"b", "", "b-premigrate b-pre", "b-premigrate b-pre"},
		{"blog-post", "", "a", ""},
	} {
		if got := strings.Join(dependsOn(tc.name, strings.Fields(tc.on), strings.Fields(tc.earlier)), " "); got != tc.want {
			t.Errorf("%s on %q after %q: got %q, want %q", tc.name, tc.on, tc.earlier, got, tc.want)
		}
	}
}
