// Package durations knows how long cells took in earlier runs. From that it divides cells into
// shares that end at about the same time, orders them, and estimates the time left. It must not run
// anything, or know what a cell does.
package durations

import (
	"slices"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// Book is how long cells took when they last ran. It may be used by several goroutines.
type Book struct {
	mu       sync.Mutex
	cells    map[result.Cell]time.Duration
	red      map[result.Cell]bool
	deployer map[string][]time.Duration // of each, sorted
}

// New returns a book of these results; those of cells that were not run are ignored. The last one
// of a cell counts.
func New(results ...result.Result) *Book {
	b := &Book{cells: map[result.Cell]time.Duration{}, red: map[result.Cell]bool{}, deployer: map[string][]time.Duration{}}
	for _, r := range results {
		b.Add(r)
	}
	return b
}

// Add records how a cell ended.
func (b *Book) Add(r result.Result) {
	took := r.Cost()
	switch r.Status {
	case result.Reused:
		if r.Reused == nil {
			return
		}
		took = r.Reused.Duration // what it took when it was run
	case result.Passed, result.Failed, result.Timeout, result.Infrastructure:
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.red[r.Cell] = !r.Status.Good()
	if took <= 0 {
		return
	}
	known := b.deployer[r.Deployer]
	if old, ok := b.cells[r.Cell]; ok {
		at, _ := slices.BinarySearch(known, old)
		known = slices.Delete(known, at, at+1)
	}
	at, _ := slices.BinarySearch(known, took)
	b.deployer[r.Deployer] = slices.Insert(known, at, took)
	b.cells[r.Cell] = took
}

// Of returns how long a cell took. For a cell that is not in the book, it is the median of its
// deployer, or else the same for each.
func (b *Book) Of(c result.Cell) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if took, ok := b.cells[c]; ok {
		return took
	}
	if known := b.deployer[c.Deployer]; len(known) > 0 {
		return known[len(known)/2]
	}
	return unknown
}

// unknown is for a cell of a deployer without records. It only matters in comparison with others.
const unknown = 40 * time.Second

// Known reports whether the book has the cell's duration.
func (b *Book) Known(c result.Cell) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.cells[c]
	return ok
}

// Red reports whether the cell failed when it last ran.
func (b *Book) Red(c result.Cell) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.red[c]
}
