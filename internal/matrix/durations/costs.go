// Package durations knows what cells took in earlier runs. By that it divides cells into shares
// that end at about the same time, orders them, and says how much time is left. It must not run
// anything, or know what a cell does.
package durations

import (
	"slices"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// Book is what cells took when they were last run. It may be used by several goroutines.
type Book struct {
	mu       sync.Mutex
	cells    map[result.Cell]time.Duration
	red      map[result.Cell]bool
	deployer map[string][]time.Duration // of each, sorted
}

// New is a book of these results; those of cells that were not run say nothing. Of several results
// for a cell the last one counts.
func New(results ...result.Result) *Book {
	b := &Book{cells: map[result.Cell]time.Duration{}, red: map[result.Cell]bool{}, deployer: map[string][]time.Duration{}}
	for _, r := range results {
		b.Add(r)
	}
	return b
}

// Add notes how a cell ended.
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

// Of is what a cell took; for a cell that is not in the book, what is usual for its deployer, or
// else the same for each.
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

// unknown stands for a cell of a deployer of which nothing is known. Only how such cells compare
// with others matters.
const unknown = 40 * time.Second

// Known reports whether the book has what a cell took.
func (b *Book) Known(c result.Cell) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.cells[c]
	return ok
}

// Red reports whether the cell had not passed when it was last run.
func (b *Book) Red(c result.Cell) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.red[c]
}
