package report

// alike.go says which lanes of a recipe made the same objects.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// alikeLines says for each recipe which lanes produced the same objects as their reference lane.
// Lanes that did not have a failure report instead. A recipe with fewer than two passed cells has
// no line, since there is no comparison.
func alikeLines(results []result.Result) []string {
	var lines []string
	for _, c := range comparisons(results) {
		lines = append(lines, fmt.Sprintf("lanes: %s: %s produced the same %s as %s%s", c.recipe, lists.And(c.same), lists.Count(c.objects, "object"), c.with, declared(c.declared)))
	}
	return lines
}

// alikeMany has a line for each set of lanes that made the same objects as another one, with the
// recipes of which that is said.
func alikeMany(results []result.Result) []string {
	type claim struct{ same, with string }
	var order []claim
	recipes, differences := map[claim][]string{}, map[claim]int{}
	for _, c := range comparisons(results) {
		key := claim{lists.And(c.same), c.with}
		differences[key] += c.declared
		if recipes[key] == nil {
			order = append(order, key)
		}
		recipes[key] = append(recipes[key], c.recipe)
	}
	slices.SortStableFunc(order, func(a, b claim) int { return len(recipes[b]) - len(recipes[a]) })
	var lines []string
	for i, key := range order {
		of := strings.Join(recipes[key], ", ")
		if i == 0 && len(recipes[key]) > 3 {
			of = "in " + lists.Count(len(recipes[key]), "recipe")
		}
		lines = append(lines, fmt.Sprintf("lanes: %s: %s produced the same objects as %s%s", of, key.same, key.with, declared(differences[key])))
	}
	return lines
}

// declared says how many differences between lanes are declared; nothing if none is.
func declared(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", with %s (in the notes)", lists.Count(n, "declared difference"))
}

// comparison is the lanes of a recipe that made the same objects as another one.
type comparison struct {
	recipe, with string
	same         []string
	objects      int
	declared     int // differences between all of them and the other one
}

func comparisons(results []result.Result) []comparison {
	type group struct{ recipe, with string }
	var order []group
	same := map[group][]string{}
	objects, differences := map[group]int{}, map[group]int{}
	for i := range results {
		c := &results[i]
		if c.ComparedWith == "" || c.Reason == reason.LaneDivergence {
			continue
		}
		g := group{c.Recipe, c.ComparedWith}
		if same[g] == nil {
			order = append(order, g)
		}
		same[g] = append(same[g], c.Deployer)
		objects[g] = max(objects[g], c.ComparedObjects)
		differences[g] += c.DeclaredDifferences
	}
	var all []comparison
	for _, g := range order {
		all = append(all, comparison{g.recipe, g.with, same[g], objects[g], differences[g]})
	}
	return all
}
