package recipe

// sorting.go puts names in an order in which each comes after those that it depends on. It must
// not know what the names mean.

import (
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// orderDependencies gives the names so that each comes after its dependencies and, where that leaves a choice,
// alphabetically (Kahn's algorithm). Those that are off have no place in it, and nothing waits for
// them. Every dependency must be one of the names. If there is no such order, the second result is
// a cycle of dependencies, its smallest name first.
func orderDependencies(depends map[string][]string, off map[string]bool) (order, cycle []string) {
	waiting := map[string]int{}     // how many dependencies are not placed yet
	needed := map[string][]string{} // which names wait for one
	names := slices.Sorted(maps.Keys(depends))
	names = slices.DeleteFunc(names, func(name string) bool { return off[name] })
	for _, name := range names {
		for _, dep := range lists.Unique(depends[name]) {
			if !off[dep] {
				waiting[name]++
				needed[dep] = append(needed[dep], name)
			}
		}
	}
	var ready []string
	for _, name := range names {
		if waiting[name] == 0 {
			ready = append(ready, name)
		}
	}
	for len(ready) > 0 {
		name := ready[0]
		ready = ready[1:]
		order = append(order, name)
		for _, next := range needed[name] {
			if waiting[next]--; waiting[next] == 0 {
				at, _ := slices.BinarySearch(ready, next)
				ready = slices.Insert(ready, at, next)
			}
		}
	}
	if len(order) == len(names) {
		return order, nil
	}
	return nil, find(names, depends, waiting)
}

// find finds a cycle among the names that could not be placed. Each of those has a dependency that
// could not be placed either, so following those has to come back to where it has been.
func find(names []string, depends map[string][]string, waiting map[string]int) []string {
	at := slices.IndexFunc(names, func(name string) bool { return waiting[name] > 0 })
	way := []string{names[at]}
	for {
		for _, dep := range depends[way[len(way)-1]] {
			if waiting[dep] == 0 {
				continue
			}
			if i := slices.Index(way, dep); i >= 0 {
				return rotateOrder(way[i:])
			}
			way = append(way, dep)
			break
		}
	}
}

// rotateOrder gives a cycle starting with its smallest name, so that it reads the same wherever it was
// entered.
func rotateOrder(cycle []string) []string {
	i := slices.Index(cycle, slices.Min(cycle))
	return slices.Concat(cycle[i:], cycle[:i])
}
