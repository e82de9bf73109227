//go:build soak

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

var (
	soakRuns = flag.Int("soak", 50, "how many times the recipe is run")
	soakArgs = flag.String("soak-args", "eks-training", "arguments of `matrix run`, separated by blanks")
)

// warmUp: what a process keeps on purpose (connection pools, parsed schemas, type caches) is there
// after this many runs.
const warmUp = 3

// The heap profiler, which a test binary has on and the program has not, keeps every stack that it
// ever sampled: 400 KiB a run.
func init() { runtime.MemProfileRate = 0 }

// gauges are what must not grow from run to run.
type gauges struct{ rssKiB, heapKiB, runtimeKiB, goroutines, files, children, cacheEntries int }

// TestSoak runs a recipe again and again in one process (no failed cell, and no leak: memory,
// files, processes and ports flat within 5 %). A run's own processes and ports end with it; ports
// are lock files in the cache, counted with the rest of it.
func TestSoak(t *testing.T) {
	paths, _ := needStack(t)
	var first, last gauges
	green := 0
	for i := 1; i <= *soakRuns; i++ {
		start := time.Now()
		var stdout, stderr strings.Builder
		code := execute(t.Context(), append([]string{"run"}, strings.Fields(*soakArgs)...), os.Getenv, &stdout, &stderr)
		took := time.Since(start).Round(time.Second)
		if code == 0 {
			green++
		} else {
			t.Errorf("run %d: exit code %d\n%s\n%s", i, code, stdout.String(), tailOf(stderr.String()))
		}
		last = readGauges(t, paths.Root)
		fmt.Printf("soak %d/%d: exit %d, %s, %d green; memory %d KiB (heap %d, runtime %d), %d goroutines, %d files, %d children, %d entries in the cache\n",
			i, *soakRuns, code, took, green, last.rssKiB, last.heapKiB, last.runtimeKiB, last.goroutines, last.files, last.children, last.cacheEntries)
		if i <= warmUp {
			first = last
		}
	}
	if *soakRuns <= warmUp {
		return
	}
	for _, g := range []struct {
		name   string
		at, to int
	}{
		{"resident memory in KiB", first.rssKiB, last.rssKiB}, {"goroutines", first.goroutines, last.goroutines}, {"open files", first.files, last.files},
		{"child processes", first.children, last.children}, {"entries in the cache", first.cacheEntries, last.cacheEntries},
	} {
		if float64(g.to) > float64(g.at)*1.05 {
			t.Errorf("%s: %d after run %d, %d after run %d: more than 5 %% more", g.name, g.at, warmUp, g.to, *soakRuns)
		}
	}
}

func readGauges(t *testing.T, cache string) gauges {
	t.Helper()
	debug.FreeOSMemory()
	debug.FreeOSMemory() // finalizers of the first collection release what the second collects
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	// Memory is what the system sees. The heap is printed beside it: client-go keeps the TLS
	// transport of every API server that it ever spoke to, some KiB a cluster, for the life of the
	// process.
	g := gauges{heapKiB: int(m.HeapAlloc / 1024), runtimeKiB: int((m.Sys - m.HeapSys) / 1024), goroutines: runtime.NumGoroutine(), rssKiB: residentKiB(t)}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	g.files = len(fds)
	children, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		text, _ := os.ReadFile(c) // a thread that has ended meanwhile has none
		g.children += len(strings.Fields(string(text)))
	}
	for _, sub := range []string{"clusters", "runs", "ports"} {
		entries, err := os.ReadDir(filepath.Join(cache, sub))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		g.cacheEntries += len(entries)
	}
	return g
}

func residentKiB(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			var kib int
			if _, err := fmt.Sscanf(text, "%d kB", &kib); err == nil {
				return kib
			}
		}
	}
	t.Fatal("no VmRSS in /proc/self/status")
	return 0
}

func tailOf(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
