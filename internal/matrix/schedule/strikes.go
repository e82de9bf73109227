// Package schedule says when a run's cells start and when a run ends: what is still being built for
// them, how many fit into memory side by side, and after how many strikes a deployer's cells are
// given up.
package schedule

import (
	"strings"
	"sync"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// DefaultMax is upstream's number: three consecutive sync timeouts end the run.
const DefaultMax = 3

// Count counts consecutive sync timeouts per deployer: a job upstream had one deployer, and where
// several run side by side, a pass of one says nothing about another. A pass resets its deployer's
// count. Other ends neither count nor reset: a rejected object or a dead controller does not show
// whether the machine is too slow to sync.
type Count struct {
	limit int // 0: never

	mu     sync.Mutex
	count  map[string][]result.Cell
	struck error
}

// New returns a count that ends the run at limit; 0 for never.
func New(limit int) *Count { return &Count{limit: limit, count: map[string][]result.Cell{}} }

// Add counts a cell's end, in the order in which cells end.
func (s *Count) Add(r result.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Status == result.Passed:
		delete(s.count, r.Deployer)
	case r.Reason == reason.SyncTimeout:
		s.count[r.Deployer] = append(s.count[r.Deployer], r.Cell)
	}
	if cells := s.count[r.Deployer]; s.limit > 0 && len(cells) >= s.limit && s.struck == nil {
		var names []string
		for _, c := range cells {
			names = append(names, c.String())
		}
		s.struck = reason.New(reason.SyncTimeout, "%s: %d consecutive sync timeouts (%s) ended the run (--max-strikes %d)",
			r.Deployer, len(cells), strings.Join(names, ", "), s.limit)
	}
}

// Out returns why the run is over, or nil.
func (s *Count) Out() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.struck
}
