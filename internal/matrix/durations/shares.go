package durations

import (
	"cmp"
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// unit is a set of cells that must be in the same share.
type unit struct {
	at   []int // of the cells
	cost time.Duration
}

// Shares divides cells into n shares (1 or more) of about the same duration, and returns the
// indices of each share's cells, ascending. A share has all the lanes of a recipe, since they are
// compared with each other, unless there are fewer recipes than shares. The same cells and the same
// book give the same shares, so that each of n jobs can find its own.
func (b *Book) Shares(cells []result.Cell, n int) [][]int {
	units := b.units(cells, n)
	var each []time.Duration
	for _, u := range units {
		each = append(each, u.cost)
	}
	shares := make([][]int, n)
	for i, mine := range Divide(each, n) {
		for _, u := range mine {
			shares[i] = append(shares[i], units[u].at...)
		}
		slices.Sort(shares[i])
	}
	return shares
}

// Divide divides items with these costs among n shares (1 or more), such that the most expensive
// share costs little, and returns their indices in the order of assignment. The most expensive item
// goes first, to the share with the least so far (Graham 1969, "longest processing time": at most a
// third above the optimum).
func Divide(each []time.Duration, n int) [][]int {
	order := make([]int, len(each))
	for i := range each {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(each[b], each[a]) })
	shares := make([][]int, n)
	load := make([]time.Duration, n)
	for _, i := range order {
		least := 0
		for at := range load {
			if load[at] < load[least] {
				least = at
			}
		}
		shares[least] = append(shares[least], i)
		load[least] += each[i]
	}
	return shares
}

func (b *Book) units(cells []result.Cell, n int) []unit {
	var units []unit
	recipe := map[string]int{}
	for i, c := range cells {
		at, ok := recipe[c.Recipe]
		if !ok {
			at = len(units)
			recipe[c.Recipe] = at
			units = append(units, unit{})
		}
		units[at].at = append(units[at].at, i)
		units[at].cost += b.Of(c)
	}
	if len(units) >= n {
		return units
	}
	units = nil
	for i, c := range cells {
		units = append(units, unit{[]int{i}, b.Of(c)})
	}
	return units
}
