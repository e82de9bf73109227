package bundle

import (
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// A number that is not printed as it is written is a warning with the line of the value, in every lane: where an
// image, a name or a label has it, and if a 0 in front makes another number of it.
func TestRewritten(t *testing.T) {
	at := func(line int, written string) recipe.Origin {
		return recipe.Origin{File: "recipes/components/web/values.yaml", Line: line, Written: written}
	}
	for _, d := range Deployers() {
		in := fixture()
		web := &in.Components[0]
		web.Values["text"], web.Origins["text"] = 1.1, at(3, "1.10")   // in an annotation
		web.Values["ratio"], web.Origins["ratio"] = 0.5, at(4, "0.50") // in none
		web.Values["phone"], web.Origins["phone"] = 83, at(5, "0123")  // another number
		web.Values["defaultMode"], web.Origins["defaultMode"] = 420, at(6, "0644")
		web.Values["list"] = []any{map[string]any{"tag": 1.1}, 83, "0123"}
		listed := at(8, "")
		listed.Listed = &[]recipe.Number{{Path: []any{0, "tag"}, Line: 9, Written: "1.10"}, {Path: []any{1}, Line: 10, Written: "0123"},
			{Path: []any{2}, Line: 11, Written: "0123"}, {Path: []any{3}, Line: 12, Written: "0123"}}
		web.Origins["list"] = listed
		web.Values["plain"], web.Origins["plain"] = 1.1, at(7, "")
		b := mustBundle(t, d, in)
		var got []string
		for _, w := range b.Expectation.Warnings {
			if strings.Contains(w, "without quotes") {
				got = append(got, w)
			}
		}
		want := []string{
			`web: list[0].tag is written 1.10 without quotes, which is the number 1.1, and Deployment web has text "1.1": quote it (recipes/components/web/values.yaml:9)`,
			"web: list[1] is written 0123 without quotes, which is the number 83: quote it if it is text (recipes/components/web/values.yaml:10)",
			"web: phone is written 0123 without quotes, which is the number 83: quote it if it is text (recipes/components/web/values.yaml:5)",
			`web: text is written 1.10 without quotes, which is the number 1.1, and Deployment web has text "1.1": quote it (recipes/components/web/values.yaml:3)`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q", d.Name(), got)
		}
	}
}
