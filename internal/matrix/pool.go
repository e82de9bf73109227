package matrix

import (
	"context"
	"sync"
	"time"
)

// aheadMemory is what a cluster has taken at least when it is ready and nothing is deployed, in
// bytes: measured 633 MiB without controllers. So much less than CellMemory is needed for a cell
// that was begun ahead.
const aheadMemory = 500 << 20

// pool has the cells that were begun before their turn: the next ones in the order, at most size at
// a time.
type pool struct {
	runner *Runner
	plans  []Plan
	order  []int // in which the plans are started
	size   int
	begin  func(context.Context, Plan) startedCell

	mu    sync.Mutex
	taken map[int]bool        // by plan: its turn has come
	ahead map[int]startedCell // by plan: begun, and its turn has not come
}

// newPool is empty. It stays so where the size is 0.
func newPool(r *Runner, plans []Plan, order []int, begin func(context.Context, Plan) startedCell) *pool {
	return &pool{runner: r, plans: plans, order: order, size: r.Ahead, begin: begin, taken: map[int]bool{}, ahead: map[int]startedCell{}}
}

// turn notes that the turn of a plan has come, and gives its cell if it was begun ahead, or nil.
func (p *pool) turn(i int) startedCell {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[i] = true
	cell := p.ahead[i]
	delete(p.ahead, i)
	return cell
}

// fill begins the next cells if there is memory for each beside what runs. It is called when a cell
// is ready to deploy, so that the start of one cluster does not slow down that of another for which
// somebody waits.
func (p *pool) fill(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.order {
		if len(p.ahead) >= p.size || p.runner.short(2*p.runner.MemoryPerCell()) { // as much again for what the others have not taken yet
			return
		}
		if !p.taken[i] && p.ahead[i] == nil {
			p.ahead[i] = p.begin(ctx, p.plans[i])
		}
	}
}

// giveUp drops what was begun ahead, so that others have its memory. A cell that was dropped stays
// in the pool until its turn has come: it is not begun ahead again.
func (p *pool) giveUp() {
	p.mu.Lock()
	var all []startedCell
	for _, cell := range p.ahead {
		all = append(all, cell)
	}
	p.mu.Unlock()
	for _, cell := range all {
		_ = cell.drop() // what is left of it fails the cell's own start, or is reported at its turn
	}
}

// watch gives up what was begun ahead when memory becomes short, until ctx ends: cells that run go
// first.
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

// short reports whether less memory is available than this, in bytes. What cannot be read is not
// short.
func (r *Runner) short(want uint64) bool {
	if r.Memory == nil {
		return false
	}
	free, err := r.Memory()
	return err == nil && free < want
}
