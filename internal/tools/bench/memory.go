package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// watchMemory returns the peak memory, in bytes, of a process and all of its descendants together.
// It reads every second until ctx ends, and returns 0 on a system without /proc. Shared pages count
// once (Pss in smaps_rollup, proc(5)).
func watchMemory(ctx context.Context, root int) int64 {
	var most int64
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		most = max(most, memoryOf(root))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return most
		}
	}
}

func memoryOf(root int) int64 {
	var sum int64
	for _, pid := range processesOf(root) {
		sum += pss(pid)
	}
	return sum
}

// processesOf are a process and all below it; none where there is no /proc.
func processesOf(root int) []int {
	parent := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		rest := string(raw)[strings.LastIndexByte(string(raw), ')')+1:] // the name before it may have blanks
		var state string
		var ppid int
		if _, err := fmt.Sscan(rest, &state, &ppid); err == nil {
			parent[pid] = ppid
		}
	}
	var all []int
	for pid := range parent {
		for at := pid; at > 1; at = parent[at] {
			if at == root {
				all = append(all, pid)
				break
			}
		}
	}
	return all
}

func pss(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}
