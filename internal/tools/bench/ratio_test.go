package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The table says what is above its goal, and puts the API server's time per object beside the page's.
func TestRatioTable(t *testing.T) {
	rows := []ratioRow{
		{"helm", usage{wall: 20 * time.Second, cpu: 23 * time.Second, apiServer: 10 * time.Second, objects: 100, requests: map[string]float64{"get a": 5, "post b": 7}}, usage{wall: 21 * time.Second, cpu: 20 * time.Second, apiServer: 8 * time.Second, objects: 100}},
		{"flux-oci", usage{wall: 31 * time.Second, cpu: 24 * time.Second, apiServer: 12 * time.Second, objects: 100}, usage{wall: 30 * time.Second, cpu: 20 * time.Second, apiServer: 8 * time.Second, objects: 100}},
	}
	table := ratioTable("eks", rows, "", "the note\n")
	want := "| `eks` | CPU: cell, by hand | ratio, at most 1.15 | wall: cell, by hand | ratio, at most 1.0 | API server, per object: cell, by hand | before |\n" +
		"|---|--:|--:|--:|--:|--:|--:|\n" +
		"| helm | 23.0 s, 20.0 s | 1.15 | 20.0 s, 21.0 s | 0.95 | 100.0 ms, 80.0 ms | none |\n" +
		"| flux-oci | 24.0 s, 20.0 s | 1.20 | 31.0 s, 30.0 s | 1.03 | 120.0 ms, 80.0 ms | none |\n" +
		"\n| lane | | requests | the most frequent |\n|---|---|--:|---|\n" +
		"| helm | cell | 12 | 7 post b, 5 get a |\n| helm | by hand | 0 |  |\n| flux-oci | cell | 0 |  |\n| flux-oci | by hand | 0 |  |\n" +
		"\nAbove the goal: flux-oci, CPU time 1.20 times that by hand.\nAbove the goal: flux-oci, wall time 1.03 times that by hand.\nthe note\n"
	if table != want {
		t.Errorf("got\n%s\nwant\n%s", table, want)
	}
	if again := ratioTable("eks", rows[:1], table, ""); !strings.Contains(again, "| 100.0 ms, 80.0 ms | 100.0 ms |\n") {
		t.Errorf("without the figure before:\n%s", again)
	}
}

// Two thirds of a machine's time that were others' are said; what no machine is without is not.
func TestOthers(t *testing.T) {
	if got := others(30*time.Second, 10*time.Second); !strings.HasPrefix(got, "The machine was not idle: 67 % ") {
		t.Errorf("got %q", got)
	}
	if got := others(30*time.Second, 29*time.Second) + others(0, time.Second); got != "" {
		t.Errorf("got %q", got)
	}
}

// The CPU time of a process is what the kernel says when it has ended, and that of children that have ended is in it.
func TestCPUOf(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return // not Linux: there is nothing to read
	}
	cmd := exec.Command("sh", "-c", `sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; echo; read x`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // the child has ended
		t.Fatal(err)
	}
	got, err := cpuOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	_ = cmd.Wait() // read has no line
	if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); got < 2*tick || (used-got).Abs() > 5*tick {
		t.Errorf("got %s, the kernel says %s at its end", got, used)
	}
	before, err := cpuOfProgram()
	if err != nil || before <= 0 {
		t.Errorf("this program: %s, %v", before, err)
	}
	if busyTime() < got {
		t.Errorf("the machine has spent %s", busyTime())
	}
}
