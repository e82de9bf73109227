package main

import (
	"slices"
	"strings"
	"testing"
)

// A row whose input was not given says which one, and a command names no path of this machine.
func TestGoals(t *testing.T) {
	var missing []string
	for _, g := range goals(goalInputs{}, "/a/nodes.yaml") {
		if g.needs != "" {
			missing = append(missing, g.needs)
		}
	}
	slices.Sort(missing)
	if got := strings.Join(slices.Compact(missing), " "); got != "CHARTS=DIR LONG=1 RECIPES=DIR" {
		t.Errorf("missing: %s", got)
	}
	in := goalInputs{charts: "/b/charts", recipes: "/c/recipes", long: true}
	for _, g := range goals(in, "/a/nodes.yaml") {
		if g.needs != "" || g.want == "" {
			t.Errorf("%s: needs %q, goal %q", g.name, g.needs, g.want)
		}
		if command := g.command(in, "/a/nodes.yaml"); strings.Contains(command, "/") || !strings.HasPrefix(command, "matrix ") {
			t.Errorf("%s: %s", g.name, command)
		}
	}
}
