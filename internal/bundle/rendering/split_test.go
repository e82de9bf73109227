package rendering

import (
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/releaseutil"
)

// The documents are those that Helm makes, whatever stands around the separators.
func TestSplit(t *testing.T) {
	helms := func(text string) []string {
		all := releaseutil.SplitManifests(text)
		keys := make([]string, 0, len(all))
		for k := range all {
			keys = append(keys, k)
		}
		sort.Sort(releaseutil.BySplitManifestsOrder(keys))
		var out []string
		for _, k := range keys {
			out = append(out, all[k])
		}
		return out
	}
	check := func(text string) {
		if got, want := split(text), helms(text); !slices.Equal(got, want) {
			t.Fatalf("%q: got %q, Helm has %q", text, got, want)
		}
	}
	for _, text := range []string{"", "---", "---\n---", "a: |\n  x\n---\nb: 1\n", "a: b---\nc: d", "a\n----\nb", "a\n \t\n--- # note\nb\n---", "--- a\n--- b", "a\v\n---\vb\n\u00a0\n---\n\u00a0"} {
		check(text)
	}
	parts := []string{"---", "--", "-", "\n", "\n", "\r\n", " ", "\t", "\f", "\v", "\u0085", "\u00a0", "a", "# Source: c\n"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		var text strings.Builder
		for range random.IntN(14) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		check(text.String())
	}
}
