package schedule

// footprint.go is how much memory cells take, and how many of them run side by side.

import (
	"context"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// FootprintCell is the most memory that a cell of usual size takes, in bytes. It was measured with
// original charts through Argo CD, where etcd, the API server and the application controller hold
// the large CRDs of kube-prometheus-stack.
const FootprintCell = 1500 << 20

const (
	// nodesIncluded is how many simulated nodes Cell is for.
	nodesIncluded = 100
	// FootprintNode is what each further node takes, in bytes: 1,000 GPU nodes with 17 pods each took 8.8 GiB,
	// 2,000 of them 16.2 GiB.
	FootprintNode = 8 << 20
	// JobControllers is what the controllers of jobs and their API server take, in bytes:
	// measured 345 MiB.
	JobControllers = 350 << 20
)

// FootprintOf returns the most memory that a cell with these nodes takes, in bytes.
func FootprintOf(nodes []simulate.NodeGroup) uint64 {
	count := 0
	for _, g := range nodes {
		count += g.Count
	}
	return FootprintCell + uint64(max(count-nodesIncluded, 0))*FootprintNode
}

// CellsThatFit returns how many cells of this size have room side by side in so many free bytes; at
// least one.
func CellsThatFit(free, each uint64) int { return max(1, int(free/each)) }

// MemoryRoom counts the cells that run.
type MemoryRoom struct {
	mu      sync.Mutex
	running int
}

// Enter takes a place if that much memory, in bytes, is available for another cell, or if no cell
// runs: on a machine that is too small even for one cell, trying shows that best.
func (r *MemoryRoom) Enter(available func() (uint64, error), need uint64) bool {
	_, ok := r.TryEnter(available, need)
	return ok
}

// TryEnter is Enter, and returns how much memory was available.
func (r *MemoryRoom) TryEnter(available func() (uint64, error), need uint64) (free uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running > 0 && available != nil {
		var err error
		if free, err = available(); err == nil && free < need {
			return free, false
		}
	}
	r.running++
	return free, true
}

// Wait takes a place once there is memory for another cell, and reports whether it took one within the
// budget. changed is told what it waits for.
func (r *MemoryRoom) Wait(ctx context.Context, available func() (uint64, error), need uint64, budget time.Duration, changed func(string)) (taken bool, err error) {
	err = wait.For(ctx, "memory for another cell", wait.Options{Budget: budget, Interval: time.Second, Changed: changed}, func(context.Context) wait.Result {
		var free uint64
		if free, taken = r.TryEnter(available, need); taken {
			return wait.Done()
		}
		return wait.NotYet("%d MiB are free, a cell takes up to %d MiB", free>>20, need>>20)
	})
	return taken, err
}

// Leave gives a place back.
func (r *MemoryRoom) Leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
}
