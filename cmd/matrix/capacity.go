package main

import (
	"runtime"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
)

// capacity is what a run may take of its machine, within the limits of its control groups.
type capacity struct {
	cores  int
	memory uint64 // in bytes, as far as it is available now
	known  bool   // memory is; macOS does not say
}

// thisMachine is the capacity of the machine that this program runs on.
func thisMachine() capacity {
	memory, err := host.MemoryAvailable()
	limit, limited := host.CPULimit()
	return capacity{cores: coresOf(runtime.GOMAXPROCS(0), limit, limited), memory: memory, known: err == nil}
}

// coresOf is the number of processors within a control group's limit. Half a core more is one, and
// there is always one.
func coresOf(processors int, limit float64, limited bool) int {
	if limited {
		processors = min(processors, int(limit+0.5))
	}
	return max(1, processors)
}

// byCores is how many cells there are cores for, on a platform with these limits.
func (c capacity) byCores(l infra.Limits) int {
	n := c.cores / l.Cores
	if l.Cells > 0 {
		n = min(n, l.Cells)
	}
	return n
}

// cells is how many run at a time, of which each takes so many bytes of memory.
func (c capacity) cells(l infra.Limits, memory uint64) int {
	n := c.byCores(l)
	if c.known {
		n = min(n, schedule.CellsThatFit(c.memory, memory))
	} else {
		n = min(n, 2) // a hosted macOS machine has three cores and 7 GB
	}
	return max(1, n)
}
