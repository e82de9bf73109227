package compare

import "testing"

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "abc", true}, {"*c", "abc", true}, {"a*c", "abc", true}, {"a*b", "abc", false},
		{"a*a", "a", false}, {"*b*", "abc", true}, {"a*b*c", "a1b2c", true}, {"a*c*b", "a1b2c", false},
	} {
		if got := MatchWildcard(tc.pattern, tc.text); got != tc.want {
			t.Errorf("Match(%q, %q): got %t", tc.pattern, tc.text, got)
		}
	}
}
