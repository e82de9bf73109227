package main

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/reason"
)

// compared says of each recipe which lanes made the same objects as which other one. Those that did not have a story of their own; a
// recipe of which fewer than two cells passed has no line, since nothing is claimed of it.
func compared(results []matrix.Result) []string {
	type group struct{ recipe, with string }
	var order []group
	same := map[group][]string{}
	objects := map[group]int{}
	for _, r := range results {
		if r.ComparedWith == "" || r.Reason == reason.LaneDivergence {
			continue
		}
		g := group{r.Recipe, r.ComparedWith}
		if same[g] == nil {
			order = append(order, g)
		}
		same[g] = append(same[g], r.Deployer)
		objects[g] = max(objects[g], r.ComparedObjects)
	}
	var lines []string
	for _, g := range order {
		lines = append(lines, fmt.Sprintf("lanes: %s: the same %d objects through %s as through %s", g.recipe, objects[g], strings.Join(same[g], ", "), g.with))
	}
	return lines
}
