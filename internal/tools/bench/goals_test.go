package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
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
		if command := g.command(in, "/a/nodes.yaml"); slices.ContainsFunc([]string{"/a", "/b", "/c"}, func(path string) bool { return strings.Contains(command, path) }) || !strings.HasPrefix(command, "matrix ") {
			t.Errorf("%s: %s", g.name, command)
		}
	}
}

// The file for 1,000 nodes has every other setting, without which matrix refuses it.
func TestThousandNodes(t *testing.T) {
	own := "go:\n  minimum: \"1.26.3\"\nnodes:\n  system: 2\n  accelerated: 4\n"
	got, err := thousandNodes([]byte(own))
	if want := strings.Replace(own, "accelerated: 4", "accelerated: 1000", 1); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	real, err := os.ReadFile(filepath.Join("..", "..", "..", ownSettings))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := thousandNodes(real); err != nil {
		t.Errorf("this repository's settings: %v", err)
	}
	if _, err := thousandNodes([]byte("nodes: {accelerated: 4}\n")); err == nil {
		t.Error("a file in which the number was not found is taken")
	}
}

// A row that fails has no figure, does not end the others, and makes the bench fail.
func TestGoalTable_FailedRow(t *testing.T) {
	red := errors.New("exit status 1")
	table, err := goalTable(t.Context(), goalInputs{}, "/a/nodes.yaml", io.Discard, func(g goal) ([]string, error) {
		if g.name == "`helm` alone" {
			return nil, red
		}
		return []string{"1 s", "2 s", "3 MiB"}, nil
	})
	if !errors.Is(err, red) || !strings.HasPrefix(err.Error(), "`helm` alone: ") {
		t.Errorf("got error %v", err)
	}
	for _, want := range []string{"| no figure: the command failed |", "| four lanes | 40 s, 75 s of CPU time | 1 s | 2 s | 3 MiB |"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}
