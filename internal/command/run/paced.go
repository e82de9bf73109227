package run

import (
	"sync"
	"time"
)

const (
	// quickWrite is what may be written whenever a cell has ended.
	quickWrite = 100 * time.Millisecond
	// writeRest is the pause after a slower write, as a multiple of it. The reports of 92 cells are 8 MB and
	// take a quarter of a second. An interrupted run of 516 wrote them anew for each of 400 that it
	// lists as not run, for a minute and a half, where CI gives it ten seconds.
	writeRest = 10
)

// paced writes the newest of what it is given: at once, or after a pause if writing is slow.
type paced[T any] struct {
	write func(T)

	mu      sync.Mutex // held while it writes
	newest  T
	rests   time.Time   // until when it does not write
	waiting *time.Timer // writes the newest then; nil if that is written
}

// give returns when this one is written, or will be.
func (p *paced[T]) give(v T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newest = v
	if p.waiting != nil {
		return
	}
	if rest := time.Until(p.rests); rest > 0 {
		p.waiting = time.AfterFunc(rest, p.flush)
		return
	}
	p.writeNewest()
}

func (p *paced[T]) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting != nil { // else it was stopped meanwhile
		p.waiting = nil
		p.writeNewest()
	}
}

func (p *paced[T]) writeNewest() {
	started := time.Now()
	p.write(p.newest)
	if took := time.Since(started); took > quickWrite {
		p.rests = time.Now().Add(writeRest * took)
	}
}

// stop returns when nothing is being written, and nothing will be. What was not written is left to
// the caller.
func (p *paced[T]) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting != nil {
		p.waiting.Stop()
		p.waiting = nil
	}
}
