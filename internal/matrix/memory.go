package matrix

import (
	"context"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// CellMemory is the most memory that a cell of usual size takes, in bytes. It was measured with
// original charts through Argo CD, where etcd, the API server and the application controller hold
// the large CRDs of kube-prometheus-stack.
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

// MemoryOfCell returns the most memory that a cell with these nodes takes, in bytes.
func MemoryOfCell(nodes []simulate.NodeGroup) uint64 {
	count := 0
	for _, g := range nodes {
		count += g.Count
	}
	return CellMemory + uint64(max(count-nodesIncluded, 0))*nodeMemory
}

// MemoryPerCell returns the most memory that each of the runner's cells takes, in bytes.
func (r *Runner) MemoryPerCell() uint64 {
	need := MemoryOfCell(r.Nodes)
	if len(r.JobControllers) > 0 {
		need += jobControllersMemory
	}
	return need
}

// memoryBudget is how long a cell waits for memory. After that it starts anyway: another program
// may be using the memory.
const memoryBudget = 10 * time.Minute

// room counts the cells that run.
type room struct {
	mu      sync.Mutex
	running int
}

// enter takes a place if that much memory, in bytes, is available for another cell, or if no cell
// runs: on a machine that is too small even for one cell, trying shows that best.
func (r *room) enter(available func() (uint64, error), need uint64) bool {
	_, ok := r.tryEnter(available, need)
	return ok
}

// tryEnter is enter, and returns how much memory was available.
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
// runs, ctx has ended or memoryBudget has passed: on a small machine, a run of many cells gets
// slower instead of being killed by the kernel. If it has to wait, it drops the cells that were
// started ahead, this one included.
func (r *Runner) awaitMemory(ctx context.Context, room *room, cell startedCell, early *pool) {
	need := r.MemoryPerCell()
	if cell == nil && room.enter(r.Memory, need) {
		return
	}
	if cell != nil {
		_ = cell.drop() // it starts from scratch, and leftovers fail that start
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

// CellsThatFit returns how many cells of this size have room side by side in so many free bytes; at
// least one.
func CellsThatFit(free, each uint64) int { return max(1, int(free/each)) }
