package matrix

import (
	"context"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// CellMemory is what a cell of usual size takes at most, in bytes: measured with original charts
// through Argo CD, in which etcd, the API server and the application controller hold the large CRDs
// of kube-prometheus-stack.
const CellMemory = 1500 << 20

const (
	// nodesIncluded is how many simulated nodes CellMemory is for, and nodeMemory what each further
	// one takes, in bytes: 1,000 GPU nodes with 17 pods each took 8.8 GiB, 2,000 of them 16.2 GiB.
	nodesIncluded = 100
	nodeMemory    = 8 << 20
	// jobControllersMemory is what the controllers of jobs and their API server take, in bytes:
	// measured 345 MiB.
	jobControllersMemory = 350 << 20
)

// MemoryOfCell is what a cell with these nodes takes at most, in bytes.
func MemoryOfCell(nodes []simulate.NodeGroup) uint64 {
	count := 0
	for _, g := range nodes {
		count += g.Count
	}
	return CellMemory + uint64(max(count-nodesIncluded, 0))*nodeMemory
}

// MemoryPerCell is what each of the runner's cells takes at most, in bytes.
func (r *Runner) MemoryPerCell() uint64 {
	need := MemoryOfCell(r.Nodes)
	if len(r.JobControllers) > 0 {
		need += jobControllersMemory
	}
	return need
}

// memoryBudget is how long a cell waits for memory before it is begun all the same: what uses the
// memory may not be this program.
const memoryBudget = 10 * time.Minute

// room counts the cells that run.
type room struct {
	mu      sync.Mutex
	running int
}

// enter takes a place if there is so much memory, in bytes, for another cell, or if no cell runs: a
// machine that is too small for one shows that best by trying.
func (r *room) enter(available func() (uint64, error), need uint64) bool {
	_, ok := r.tryEnter(available, need)
	return ok
}

// tryEnter is enter, and says how much memory there was.
func (r *room) tryEnter(available func() (uint64, error), need uint64) (free uint64, ok bool) {
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

func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
}

// awaitMemory takes a place in room. It returns once there is memory for a cell, no other cell
// runs, ctx has ended or memoryBudget has passed: a run of many cells on a small machine gets
// slower, and is not killed by the kernel. If it has to wait, what was begun ahead is given up: the
// cell itself, if it was, and those in the pool.
func (r *Runner) awaitMemory(ctx context.Context, room *room, cell startedCell, early *pool) {
	need := r.MemoryPerCell()
	if cell == nil && room.enter(r.Memory, need) {
		return
	}
	if cell != nil {
		_ = cell.drop() // it is started from scratch, which fails with what is left of it
	}
	early.giveUp()
	task := r.Progress.Begin("waiting for memory before the next cell")
	taken := false
	err := wait.For(ctx, "memory for another cell", wait.Options{Budget: memoryBudget, Interval: time.Second, Changed: task.Update}, func(context.Context) wait.Result {
		var free uint64
		if free, taken = room.tryEnter(r.Memory, need); taken {
			return wait.Done()
		}
		return wait.NotYet("%d MiB are free, a cell takes up to %d MiB", free>>20, need>>20)
	})
	task.End("", err)
	if !taken {
		_ = room.enter(nil, 0)
	}
}

// CellsThatFit is how many cells that take so many bytes each have memory side by side on a machine
// with so many free bytes: one at least.
func CellsThatFit(free, each uint64) int { return max(1, int(free/each)) }
