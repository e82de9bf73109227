package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

func sample() *figures {
	use := func(name string, seconds float64) result.ProcessUse {
		return result.ProcessUse{Name: name, CPU: time.Duration(seconds * float64(time.Second))}
	}
	return &figures{args: "eks", wall: 50 * time.Second, cpu: 40 * time.Second, peak: 3 << 29, results: []result.Result{
		{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}, Duration: 20 * time.Second, ReadyAfter: 9500 * time.Millisecond, Processes: []result.ProcessUse{use("kube-apiserver", 5), use("etcd", 1.25), use("kwok-controller", 1)}},
		{Cell: result.Cell{Recipe: "eks", Deployer: "flux-oci"}, Duration: 30 * time.Second, ReadyAfter: 30 * time.Millisecond, Phases: []result.Phase{{Name: "cluster", Ahead: 4 * time.Second}}, Processes: []result.ProcessUse{use("kube-apiserver", 7), use("helm-controller", 4), use("source-watcher", 0.5)}},
	}}
}

func TestTable(t *testing.T) {
	want := "| `matrix run eks` | wall | CPU | ready after | API server | etcd | scheduler, managers, KWOK | Argo CD, Flux | harness |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|\n" +
		"| eks/helm | 20.0 s | 7.2 s | 9.50 s | 5.0 s | 1.2 s | 1.0 s | 0.0 s |  |\n" +
		"| eks/flux-oci | 30.0 s | 11.5 s | 0.03 s, started ahead | 7.0 s | 0.0 s | 0.0 s | 4.5 s |  |\n" +
		"| all | 50.0 s | 40.0 s |  | 12.0 s | 1.2 s | 1.0 s | 4.5 s | 21.2 s |\n" +
		"\nAt most 1.5 GiB at once, over all processes.\n"
	if got := sample().table(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCompare(t *testing.T) {
	page := "# Figures\n" + cellMarks.begin + "nothing yet\n" + cellMarks.end + "more\n"
	old := sample()
	page = cellMarks.replace(page, old.table())
	kept, err := cellMarks.find(page)
	if err != nil || !strings.HasPrefix(page, "# Figures\n") || !strings.HasSuffix(page, cellMarks.end+"more\n") {
		t.Fatalf("%v, the page is\n%s", err, page)
	}
	now := sample()
	now.wall, now.results = 25*time.Second, now.results[:1]
	if got, want := compare(kept, now.table()), "eks/helm: wall 20.0 s to 20.0 s (+0 %), CPU 7.2 s to 7.2 s (+0 %)\nall: wall 50.0 s to 25.0 s (-50 %), CPU 40.0 s to 40.0 s (+0 %)\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := compare("", now.table()); got != "the page has no table to compare with\n" {
		t.Errorf("got %q", got)
	}
	if _, err := cellMarks.find("# Figures\n"); err == nil {
		t.Error("a page without a place for the table is not refused")
	}
}

// The page of this repository has a place for each table.
func TestPage(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/contributing/figures.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []marks{cellMarks, goalMarks, gangMarks, profileMarks, verdictMarks, ratioMarks} {
		if _, err := m.find(string(raw)); err != nil {
			t.Error(err)
		}
	}
}

// A child's memory is in the sum.
func TestMemory(t *testing.T) {
	alone := memoryOf(os.Getpid())
	if alone == 0 {
		if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
			return // not Linux: there is nothing to read
		}
		t.Fatal("this process has no memory")
	}
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	if of := memoryOf(child.Process.Pid); of <= 0 || memoryOf(os.Getpid()) < of {
		t.Errorf("the child has %d bytes, and this process with it %d", of, memoryOf(os.Getpid()))
	}
}
