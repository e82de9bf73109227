package matrix

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// equalMaker is another program that makes the bundles of cells, and can say what it makes before the
// cells run. Each call gets a directory of its own, which does not exist.
type equalMaker interface {
	// Likeness is the digest of what the program makes a recipe's bundles of, which costs less than a
	// bundle. Digest is that of the bundle of a cell, without the recipe's name; empty if it is to have
	// no twin.
	Likeness(ctx context.Context, in bundle.Input, dir string) (string, error)
	Digest(ctx context.Context, d bundle.Deployer, in bundle.Input, dir string) (string, error)
}

// equalCell is a cell whose bundle another program makes. Alone: it is no other one's twin in any case.
type equalCell struct {
	Recipe   string
	Deployer bundle.Deployer
	Input    bundle.Input
	Alone    bool
}

// madeEqual gives the digests of the cells' bundles, with n commands of the program at a time. It has
// bundles made only of recipes that may have a twin: those of each other one would cost time for
// nothing. A cell without a digest has none, also one whose bundle cannot be made: its run says why.
func madeEqual(ctx context.Context, m equalMaker, cells []equalCell, dir string, n int) []string {
	digests := make([]string, len(cells))
	likeness := map[string]string{} // by recipe
	var firsts []int
	for i, c := range cells {
		if _, ok := likeness[c.Recipe]; !ok && !c.Alone {
			likeness[c.Recipe] = ""
			firsts = append(firsts, i)
		}
	}
	if len(firsts) < 2 {
		return digests
	}
	var mu sync.Mutex
	atATime(ctx, n, firsts, func(i int) {
		got, err := m.Likeness(ctx, cells[i].Input, filepath.Join(dir, fmt.Sprintf("recipe-%d", i)))
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			likeness[cells[i].Recipe] = got
		}
	})
	alike := map[string]int{}
	for _, l := range likeness {
		alike[l]++
	}
	var asked []int
	for i, c := range cells {
		if l := likeness[c.Recipe]; l != "" && alike[l] > 1 && !c.Alone {
			asked = append(asked, i)
		}
	}
	atATime(ctx, n, asked, func(i int) {
		if got, err := m.Digest(ctx, cells[i].Deployer, cells[i].Input, filepath.Join(dir, fmt.Sprintf("bundle-%d", i))); err == nil {
			digests[i] = got
		}
	})
	return digests
}

// atATime calls f for each of these, n at a time, until the context ends.
func atATime(ctx context.Context, n int, of []int, f func(int)) {
	var group errgroup.Group
	group.SetLimit(max(n, 1))
	for _, i := range of {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { f(i); return nil })
	}
	_ = group.Wait() // f has no error
}
