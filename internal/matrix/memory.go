package matrix

import (
	"context"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/schedule"
)

// MemoryPerCell returns the most memory that each of the runner's cells takes, in bytes.
func (r *Runner) MemoryPerCell() uint64 {
	need := schedule.FootprintOf(r.Nodes)
	if len(r.JobControllers) > 0 {
		need += schedule.JobControllers
	}
	return need
}

// memoryBudget is how long a cell waits for memory. After that it starts anyway: another program
// may be using the memory.
const memoryBudget = 10 * time.Minute

// awaitMemory takes a place in room. It returns once there is memory for a cell, no other cell
// runs, ctx has ended or memoryBudget has passed: on a small machine, a run of many cells gets
// slower instead of being killed by the kernel. If it has to wait, it drops the cells that were
// started ahead, this one included.
func (r *Runner) awaitMemory(ctx context.Context, room *schedule.MemoryRoom, cell startedCell, early *pool) {
	need := r.MemoryPerCell()
	if cell == nil && room.Enter(r.Memory, need) {
		return
	}
	if cell != nil {
		_ = cell.drop() // it starts from scratch, and leftovers fail that start
	}
	early.giveUp()
	task := r.Progress.Begin("waiting for memory before the next cell")
	taken, err := room.Wait(ctx, r.Memory, need, memoryBudget, task.Update)
	task.End("", err)
	if !taken {
		_ = room.Enter(nil, 0)
	}
}
