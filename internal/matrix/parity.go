package matrix

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Side is one of the two runs that Parity compares. Both have plans for the same cells in the same
// order.
type Side struct {
	// Name is what the comparison calls the side; empty for the name of its platform.
	Name   string
	Runner *Runner
	Plans  []Plan
	// AtATime is how many cells run at a time.
	AtATime int
}

// Pair is one cell on two platforms.
type Pair struct {
	result.Cell
	Results [2]result.Result
	compare.Platforms
}

// Parity runs the cells on both platforms, one platform after the other, and compares the verdict
// and the objects of each cell. The error is PLATFORM_DIVERGENCE if a difference is not on the
// list, or what prevented a side from running all its cells. The pairs are returned with either.
func Parity(ctx context.Context, sides [2]Side, known []compare.KnownDifference) ([]Pair, error) {
	var results [2][]result.Result
	var live [2]map[result.Cell]*compare.Captured
	var errs []error
	for i, side := range sides {
		if len(side.Plans) != len(sides[0].Plans) {
			return nil, reason.New(reason.Internal, "%d cells on one platform and %d on the other", len(sides[0].Plans), len(side.Plans))
		}
		taken, mu := map[result.Cell]*compare.Captured{}, sync.Mutex{}
		side.Runner.onCaptured = func(c result.Cell, objects *compare.Captured) {
			mu.Lock()
			defer mu.Unlock()
			taken[c] = objects
		}
		var err error
		results[i], err = side.Runner.RunAll(ctx, side.Plans, side.AtATime)
		for j := range results[i] {
			results[i][j].Cluster = side.Called()
		}
		live[i] = taken
		errs = append(errs, err)
	}
	var pairs []Pair
	for i := range results[0] {
		p := Pair{Cell: results[0][i].Cell, Results: [2]result.Result{results[0][i], results[1][i]}}
		var err error
		p.Platforms, err = compare.OnPlatforms(context.WithoutCancel(ctx), p.Results, [2]*compare.Captured{live[0][p.Cell], live[1][p.Cell]}, known)
		errs = append(errs, err)
		pairs = append(pairs, p)
	}
	if err := errors.Join(errs...); err != nil {
		return pairs, err
	}
	return pairs, parityOf(pairs, sides[0].Called(), sides[1].Called())
}

// Called is what the comparison calls the side.
func (s *Side) Called() string { return cmp.Or(s.Name, s.Runner.Platform.Kind()) }

// parityOf returns PLATFORM_DIVERGENCE if a cell differs and every cell has a verdict.
func parityOf(pairs []Pair, one, other string) error {
	differ := 0
	for _, p := range pairs {
		if len(p.Unknown) > 0 {
			differ++
		}
	}
	if differ == 0 || !allJudged(pairs) {
		return nil
	}
	return reason.New(reason.PlatformDivergence, "%d of %d cells differ between %s and %s in what is not on the list of known differences", differ, len(pairs), one, other)
}

// allJudged reports whether every cell has a verdict. A cell that the machine or a signal ended
// says nothing about the platforms.
func allJudged(pairs []Pair) bool {
	for _, p := range pairs {
		for _, r := range p.Results {
			switch r.Status {
			case result.Infrastructure, result.Interrupted, result.NotRun:
				return false
			}
		}
	}
	return true
}
