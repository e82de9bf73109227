package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/report"
)

// ratioMarks are those of the table of what a cell costs beside a delivery by hand.
var ratioMarks = marks{"<!-- made by `make bench-ratio UPDATE=1` -->\n", "<!-- end of what `make bench-ratio` made -->\n"}

// The goals: what a cell takes over what the same bundle takes that is delivered by hand.
const (
	goalCPU  = 1.15
	goalWall = 1.0
)

// usage is what one delivery took.
type usage struct {
	wall, cpu, apiServer time.Duration
	objects              int
	requests             map[string]float64 // to the API server, by verb and resource
}

// perObject is the API server's CPU time for each object of the bundle.
func (u usage) perObject() time.Duration {
	return u.apiServer / time.Duration(max(1, u.objects))
}

func (u usage) asked() (sum float64) {
	for _, n := range u.requests {
		sum += n
	}
	return sum
}

// ratioRow is a lane: its cell, and the same bundle by hand.
type ratioRow struct {
	lane       string
	cell, hand usage
}

// benchRatio measures each lane of a recipe, in turns with the same bundle delivered by hand. kept is the page's table.
func benchRatio(ctx context.Context, dir string, lanes, args []string, kept string, stderr io.Writer) (string, error) {
	if len(args) != 1 {
		return "", errors.New("-ratio takes one recipe")
	}
	bin, err := buildMatrix(ctx, dir, stderr)
	if err != nil {
		return "", err
	}
	hand, err := newByHand(bin, dir, stderr)
	if err != nil {
		return "", err
	}
	deployers, err := bundle.ByName(lanes)
	if err != nil {
		return "", err
	}
	var rows []ratioRow
	var ours time.Duration
	busy := busyTime()
	for _, d := range deployers {
		row := ratioRow{lane: d.Name()}
		if row.hand, err = hand.deliver(ctx, args[0], d); err != nil {
			return "", err
		}
		if row.cell, err = cellUsage(ctx, bin, dir, args[0], d.Name(), stderr); err != nil {
			return "", err
		}
		row.cell.objects = row.hand.objects
		counted, err := countRequests(ctx, bin, args[0], d.Name(), stderr)
		if err != nil {
			return "", err
		}
		row.cell.requests = counted.requests
		ours += row.hand.cpu + row.cell.cpu + counted.cpu
		_, _ = fmt.Fprintf(stderr, "==> %s: cell %s of CPU time, by hand %s\n", row.lane, seconds(row.cell.cpu), seconds(row.hand.cpu))
		rows = append(rows, row)
	}
	return ratioTable(args[0], rows, kept, others(busyTime()-busy, ours)), nil
}

// cellArgs are those of the cell. In the lane helm it has Helm 3, which delivers by hand too.
func cellArgs(recipe, lane string) []string {
	args := []string{recipe, "--deployer", lane}
	if lane == bundle.Helm {
		args = append(args, "--helm", "3")
	}
	return args
}

// cellUsage runs a cell and takes from its result what it took.
func cellUsage(ctx context.Context, bin, dir, recipe, lane string, stderr io.Writer) (usage, error) {
	results := filepath.Join(dir, "cell")
	begun := time.Now()
	ended, err := runMatrix(ctx, bin, append(cellArgs(recipe, lane), "--results", results), stderr, func(context.Context, int) {})
	if err != nil {
		return usage{}, err
	}
	took := usage{wall: time.Since(begun), cpu: ended.UserTime() + ended.SystemTime()}
	read, err := report.Read(filepath.Join(results, report.FileName))
	if err != nil {
		return usage{}, err
	}
	for _, r := range read.Results {
		for _, p := range r.Processes {
			if p.Name == "kube-apiserver" {
				took.apiServer += p.CPU
			}
		}
	}
	return took, nil
}

// countEvery is how often the API server is asked for its counters. What comes between the last answer and the server's end
// is not counted.
const countEvery = 250 * time.Millisecond

// countRequests runs the cell once more and counts its requests: reading the counters costs the API server time of its own.
func countRequests(ctx context.Context, bin, recipe, lane string, stderr io.Writer) (usage, error) {
	var counted map[string]float64
	ended, err := runMatrix(ctx, bin, cellArgs(recipe, lane), stderr, func(ctx context.Context, root int) {
		for ctx.Err() == nil {
			for _, pid := range processesOf(root) {
				name, _, url, client, ok := reach(pid)
				for ok && name == "kube-apiserver" && ctx.Err() == nil {
					raw, err := get(ctx, client, url+"/metrics")
					if err != nil {
						if _, gone := os.Stat(fmt.Sprintf("/proc/%d", pid)); gone != nil {
							return
						}
					} else if all := requests(raw); len(all) > 0 {
						counted = all
					}
					pause(ctx, countEvery)
				}
			}
			pause(ctx, countEvery)
		}
	})
	if err != nil {
		return usage{}, err
	}
	if len(counted) == 0 {
		return usage{}, fmt.Errorf("the API server of %s/%s did not say how many requests it had", recipe, lane)
	}
	return usage{cpu: ended.UserTime() + ended.SystemTime(), requests: counted}, nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// ratioTable is the rows in Markdown, with what is above a goal. kept is the page's table, for the figures of the API server.
func ratioTable(recipe string, rows []ratioRow, kept, note string) string {
	var b, counts, above strings.Builder
	fmt.Fprintf(&b, "| `%s` | CPU: cell, by hand | ratio, at most %.2f | wall: cell, by hand | ratio, at most %.1f | API server, per object: cell, by hand | before |\n|---|--:|--:|--:|--:|--:|--:|\n", recipe, goalCPU, goalWall)
	fmt.Fprint(&counts, "| lane | | requests | the most frequent |\n|---|---|--:|---|\n")
	for _, r := range rows {
		cpu, wall := over(r.cell.cpu, r.hand.cpu), over(r.cell.wall, r.hand.wall)
		before := "none"
		if at, ok := keptPerObject(kept, r.lane); ok {
			before = milliseconds(at)
		}
		fmt.Fprintf(&b, "| %s | %s, %s | %.2f | %s, %s | %.2f | %s, %s | %s |\n", r.lane, seconds(r.cell.cpu), seconds(r.hand.cpu), cpu, seconds(r.cell.wall), seconds(r.hand.wall), wall,
			milliseconds(r.cell.perObject()), milliseconds(r.hand.perObject()), before)
		for _, of := range []struct {
			name   string
			ratio  float64
			atMost float64
		}{{"CPU time", cpu, goalCPU}, {"wall time", wall, goalWall}} {
			if of.ratio > of.atMost {
				fmt.Fprintf(&above, "Above the goal: %s, %s %.2f times that by hand.\n", r.lane, of.name, of.ratio)
			}
		}
		for _, of := range []struct {
			name string
			usage
		}{{"cell", r.cell}, {"by hand", r.hand}} {
			names := byValue(of.requests)
			var parts []string
			for _, name := range names[:min(mostFrequent, len(names))] {
				parts = append(parts, fmt.Sprintf("%.0f %s", of.requests[name], name))
			}
			fmt.Fprintf(&counts, "| %s | %s | %.0f | %s |\n", r.lane, of.name, of.asked(), strings.Join(parts, ", "))
		}
	}
	return strings.TrimRight(b.String()+"\n"+counts.String()+"\n"+above.String()+note, "\n") + "\n"
}

func over(a, b time.Duration) float64 { return float64(a) / float64(max(1, b)) }

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// keptPerObject is the API server's CPU time per object of a lane's cell in the page's table.
func keptPerObject(kept, lane string) (time.Duration, bool) {
	for line := range strings.Lines(kept) {
		cells := strings.Split(line, "|")
		if len(cells) < 8 || strings.TrimSpace(cells[1]) != lane {
			continue
		}
		text, _, _ := strings.Cut(strings.TrimSpace(cells[6]), " ms")
		if ms, err := strconv.ParseFloat(text, 64); err == nil {
			return time.Duration(ms * float64(time.Millisecond)), true
		}
	}
	return 0, false
}

// idle is the share of the CPU time that others may have had of a machine that counts as idle.
const idle = 0.05

// others says how much of the CPU time that the machine spent was not spent on this; empty if that cannot be read, or is little.
func others(all, ours time.Duration) string {
	if share := float64(all-ours) / float64(max(1, all)); all > 0 && share > idle {
		return fmt.Sprintf("The machine was not idle: %.0f %% of the CPU time that it spent meanwhile was other programs'. CPU seconds count, and wall time does not.\n", 100*share)
	}
	return ""
}

// tick is the unit of times in /proc, which Linux has for all programs (proc(5), USER_HZ).
const tick = 10 * time.Millisecond

// busyTime is the CPU time that this machine has spent since its start; 0 where there is no /proc.
func busyTime() time.Duration {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	fields := strings.Fields(first) // cpu, user, nice, system, idle, iowait, irq, softirq
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 6, 7} {
		if i < len(fields) {
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// cpuOf is the CPU time of a process, and of those that it started and that have ended.
func cpuOf(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw)[strings.LastIndexByte(string(raw), ')')+1:]) // the name before may have blanks; from the state on
	var sum time.Duration
	for _, i := range []int{11, 12, 13, 14} { // utime, stime, cutime, cstime
		if i >= len(fields) {
			return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
		}
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// cpuOfProgram is the CPU time of this program, and of those that it started and that have ended.
func cpuOfProgram() (sum time.Duration, err error) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var use syscall.Rusage
		if err := syscall.Getrusage(who, &use); err != nil {
			return 0, fmt.Errorf("read this program's CPU time: %w", err)
		}
		sum += time.Duration(use.Utime.Nano() + use.Stime.Nano())
	}
	return sum, nil
}
