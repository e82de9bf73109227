package matrix

import (
	"context"
	"sync"
	"time"
)

// aheadMemory is the least memory that a cluster has taken when it is ready and nothing is
// deployed, in bytes: measured 633 MiB without controllers. A cell that was started ahead needs so
// much less than schedule.FootprintCell.
const aheadMemory = 500 << 20

// pool holds the cells that were started before their turn: the next ones in the order, at most
// size at a time.
type pool struct {
	runner *Runner
	plans  []Plan
	order  []int // the start order of the plans
	size   int
	begin  func(context.Context, Plan) startedCell

	mu    sync.Mutex
	taken map[int]bool        // by plan: its turn has come
	ahead map[int]startedCell // by plan: started, and its turn has not come
}

// newPool returns an empty pool. With a size of 0 it stays empty.
func newPool(r *Runner, plans []Plan, order []int, begin func(context.Context, Plan) startedCell) *pool {
	return &pool{runner: r, plans: plans, order: order, size: r.Ahead, begin: begin, taken: map[int]bool{}, ahead: map[int]startedCell{}}
}

// turn records that the turn of a plan has come. It returns the plan's cell if it was started
// ahead, or nil.
func (p *pool) turn(i int) startedCell {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[i] = true
	cell := p.ahead[i]
	delete(p.ahead, i)
	return cell
}

// fill starts the next cells as long as there is memory for each beside the running ones. It is
// called when a cell is ready to deploy, so that starting one cluster does not slow down another
// one that a worker waits for.
func (p *pool) fill(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.order {
		if len(p.ahead) >= p.size || p.runner.short(2*p.runner.MemoryPerCell()) { // twice: the others have not taken all of theirs yet
			return
		}
		if built, err := p.runner.built(p.plans[i]); built && err == nil && !p.taken[i] && p.ahead[i] == nil {
			p.ahead[i] = p.begin(ctx, p.plans[i])
		}
	}
}

// giveUp drops the cells that were started ahead, to free their memory. A dropped cell stays in the
// pool until its turn has come, so that it is not started ahead again.
func (p *pool) giveUp() {
	p.mu.Lock()
	var all []startedCell
	for _, cell := range p.ahead {
		all = append(all, cell)
	}
	p.mu.Unlock()
	for _, cell := range all {
		_ = cell.drop() // leftovers fail the cell's own start, or are reported at its turn
	}
}

// watch drops the cells that were started ahead when memory becomes short, until ctx ends: running
// cells go first.
func (p *pool) watch(ctx context.Context) {
	if p.size == 0 || p.runner.Memory == nil {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if p.runner.short(p.runner.MemoryPerCell() / 2) {
				p.giveUp()
			}
		case <-ctx.Done():
			return
		}
	}
}

// short reports whether less memory is available than this, in bytes. If the amount cannot be read,
// memory is not short.
func (r *Runner) short(want uint64) bool {
	if r.Memory == nil {
		return false
	}
	free, err := r.Memory()
	return err == nil && free < want
}
