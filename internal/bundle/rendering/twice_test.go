package rendering

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// What maybeBoolean finds is what this expression says, which is slow.
func TestMaybeBoolean(t *testing.T) {
	slow := regexp.MustCompile(`(?m)(?:^[ \t-]*|[{,][ \t]*)(?i:y|yes|on|n|no|off)[ \t]*:(?:[ \t]|$)|(?:^[ \t-]+|:[ \t]+|[\[,][ \t]*)(?i:y|yes|on|n|no|off)[ \t]*(?:$|[\],}#])`)
	parts := []string{"y", "Yes", "ON", "n", "no", "off", "only", "yn", "true", "a", ":", " ", "  ", "\n", "\t", "-", "- ", "{", "}", "[", "]", ",", "#", "\"", "é"}
	seed := rand.Uint64()
	r, found := rand.New(rand.NewPCG(seed, 1)), 0
	for range 100_000 {
		var b strings.Builder
		for range 1 + r.IntN(9) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		want := slow.MatchString(b.String())
		if got := maybeBoolean(b.String()); got != want {
			t.Fatalf("seed %d: %q: got %t, want %t", seed, b.String(), got, want)
		}
		if want {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("only %d of the texts have such a word", found)
	}
}
