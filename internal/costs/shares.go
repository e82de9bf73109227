package costs

import (
	"cmp"
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// unit is what one share gets as a whole.
type unit struct {
	at   []int // of the cells
	cost time.Duration
}

// Shares divides cells into n shares (1 or more) that take about as long as each other, and gives the indices of each share's cells, ascending.
// A share has all the lanes of a recipe, since they are compared with each other, unless there are fewer recipes than shares.
//
// The dearest unit goes first, to the share that has least so far (Graham 1969, "longest processing time": at most a third above the
// best that is possible). The same cells and the same book give the same shares, so that each of n jobs can find its own.
func (b *Book) Shares(cells []result.Cell, n int) [][]int {
	units := b.units(cells, n)
	slices.SortStableFunc(units, func(x, y unit) int { return cmp.Compare(y.cost, x.cost) })
	shares := make([][]int, n)
	load := make([]time.Duration, n)
	for _, u := range units {
		least := 0
		for i := range load {
			if load[i] < load[least] {
				least = i
			}
		}
		shares[least] = append(shares[least], u.at...)
		load[least] += u.cost
	}
	for _, s := range shares {
		slices.Sort(s)
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
