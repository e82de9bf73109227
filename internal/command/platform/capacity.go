package platform

import (
	"runtime"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
)

// Capacity is what a run may take of its machine, within the limits of its control groups.
type Capacity struct {
	Cores  int
	Memory uint64 // in bytes, as far as it is available now
	Known  bool   // memory is; macOS does not say
}

// ThisMachine is the capacity of the machine that this program runs on.
func ThisMachine() Capacity {
	memory, err := host.MemoryAvailable()
	limit, limited := host.CPULimit()
	return Capacity{Cores: coresOf(runtime.GOMAXPROCS(0), limit, limited), Memory: memory, Known: err == nil}
}

// coresOf is the number of processors within a control group's limit. Half a core more is one, and
// there is always one.
func coresOf(processors int, limit float64, limited bool) int {
	if limited {
		processors = min(processors, int(limit+0.5))
	}
	return max(1, processors)
}

// ByCores is how many cells there are cores for, on a platform with these limits.
func (c Capacity) ByCores(l infra.Limits) int {
	n := c.Cores / l.Cores
	if l.Cells > 0 {
		n = min(n, l.Cells)
	}
	return n
}

// Cells is how many run at a time, of which each takes so many bytes of memory.
func (c Capacity) Cells(l infra.Limits, memory uint64) int {
	n := c.ByCores(l)
	if c.Known {
		n = min(n, schedule.CellsThatFit(c.Memory, memory))
	} else {
		n = min(n, 2) // a hosted macOS machine has three cores and 7 GB
	}
	return max(1, n)
}
