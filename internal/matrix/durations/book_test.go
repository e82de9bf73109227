package durations

import (
	_ "embed"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

func cell(recipe, deployer string) result.Cell {
	return result.Cell{Recipe: recipe, Deployer: deployer}
}

func ended(c result.Cell, s result.Status, took time.Duration) result.Result {
	return result.Result{Cell: c, Verdict: result.Verdict{Status: s}, Duration: took}
}

func TestBook(t *testing.T) {
	reused := ended(cell("d", "helm"), result.Reused, time.Millisecond)
	reused.Reused = &result.Reuse{Duration: 50 * time.Second}
	ahead := ended(cell("e", "argocd"), result.Passed, 30*time.Second)
	ahead.Phases = []result.Phase{{Name: "cluster", Ahead: 8 * time.Second}, {Name: "sync", Duration: 30 * time.Second}}
	b := New(
		ahead, ended(cell("a", "helm"), result.Passed, 10*time.Second), ended(cell("b", "helm"), result.Failed, 20*time.Second),
		ended(cell("c", "helm"), result.NotRun, 0), ended(cell("c", "helm"), result.Skipped, 0), ended(cell("c", "helm"), result.Interrupted, 90*time.Second),
		reused, ended(cell("a", "helm"), result.Passed, 30*time.Second),
	)
	for c, want := range map[result.Cell]time.Duration{
		cell("a", "helm"):   30 * time.Second, // the last one counts
		cell("b", "helm"):   20 * time.Second,
		cell("c", "helm"):   30 * time.Second, // of 20, 30, 50
		cell("d", "helm"):   50 * time.Second, // not what it took to reuse it
		cell("a", "flux"):   unknown,
		cell("e", "argocd"): 38 * time.Second, // what was done ahead is work too
	} {
		if got := b.Of(c); got != want {
			t.Errorf("%s: got %s, want %s", c, got, want)
		}
	}
	if b.Red(cell("a", "helm")) || !b.Red(cell("b", "helm")) || b.Red(cell("c", "helm")) || b.Known(cell("c", "helm")) {
		t.Error("red is what failed when it was last run, and known what was run")
	}
}

// recorded are the seconds that each cell of the set took in a run of all of them
// (docs/contributing/figures.md), other work on the machine included: the same recipe takes from 30 s to 140 s.
//
//go:embed testdata/times.tsv
var recorded string

// A thousand cells with recorded times, on 20 runners of which each does one cell after the other,
// end within a tenth of the best that is possible, the lanes of a recipe together.
func TestShares_ThousandCells(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(recorded), "\n")
	lanes := strings.Split(lines[0], "\t")[1:]
	var cells []result.Cell
	b := New()
	for i := range 250 {
		row := strings.Split(lines[1+i%(len(lines)-1)], "\t")
		for at, lane := range lanes {
			seconds, err := strconv.ParseFloat(row[1+at], 64)
			if err != nil {
				t.Fatal(err)
			}
			c := cell(fmt.Sprintf("%s-%d", row[0], i), lane)
			cells = append(cells, c)
			b.Add(ended(c, result.Passed, time.Duration(seconds*float64(time.Second))))
		}
	}
	const runners = 20
	var sum, longest time.Duration
	seen := map[result.Cell]int{}
	home := map[string]int{}
	for i, share := range b.Shares(cells, runners) {
		var load time.Duration
		for _, at := range share {
			load += b.Of(cells[at])
			seen[cells[at]]++
			if other, ok := home[cells[at].Recipe]; ok && other != i {
				t.Fatalf("the lanes of %s are in shares %d and %d", cells[at].Recipe, other, i)
			}
			home[cells[at].Recipe] = i
		}
		sum, longest = sum+load, max(longest, load)
	}
	if len(cells) != 1000 || len(seen) != len(cells) {
		t.Errorf("%d of %d cells are in a share", len(seen), len(cells))
	}
	ideal := sum / runners
	t.Logf("%d cells, %s in all: the longest of %d shares takes %s, the ideal is %s", len(cells), sum.Round(time.Second), runners, longest.Round(time.Second), ideal.Round(time.Second))
	if longest > ideal*11/10 {
		t.Errorf("the longest share takes %s, want at most a tenth more than %s", longest, ideal)
	}
}

// Without times, shares have as many recipes as each other; with fewer recipes than shares, cells
// are divided. Every cell is in one share.
func TestShares(t *testing.T) {
	var cells []result.Cell
	for _, recipe := range []string{"a", "b", "c"} {
		for _, deployer := range []string{"helm", "flux"} {
			cells = append(cells, cell(recipe, deployer))
		}
	}
	for n, want := range map[int][][]int{
		1: {{0, 1, 2, 3, 4, 5}},
		2: {{0, 1, 4, 5}, {2, 3}},
		3: {{0, 1}, {2, 3}, {4, 5}},
		4: {{0, 4}, {1, 5}, {2}, {3}},
		7: {{0}, {1}, {2}, {3}, {4}, {5}, nil},
	} {
		if got := New().Shares(cells, n); !reflect.DeepEqual(got, want) {
			t.Errorf("%d shares: got %v, want %v", n, got, want)
		}
	}
	times := New()
	for i, c := range cells {
		times.Add(ended(c, result.Passed, time.Minute))
		if i == 2 {
			times.Add(ended(c, result.Passed, time.Hour))
		}
	}
	if got, want := times.Shares(cells, 2), [][]int{{2, 3}, {0, 1, 4, 5}}; !reflect.DeepEqual(got, want) {
		t.Errorf("one slow recipe: got %v, want %v", got, want)
	}
}

func TestLeft(t *testing.T) {
	a, b, c := cell("a", "helm"), cell("b", "helm"), cell("c", "helm")
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	left := func(l *Left, seconds int) string {
		d, ok := l.At(at(seconds))
		return fmt.Sprint(d.Round(time.Second), ok)
	}
	l := NewLeft(New(), []result.Cell{a, b, c}, 1)
	l.Begin(a, at(0))
	if got := left(l, 5); got != "1m55s false" { // three times the unknown, less what has passed
		t.Errorf("nothing known: got %s", got)
	}
	l.End(ended(a, result.Passed, 10*time.Second))
	if got := left(l, 10); got != "20s true" {
		t.Errorf("as slow as the first cell: got %s", got)
	}
	l.Begin(b, at(10))
	l.Begin(b, at(14)) // a second step of the same cell
	if got := left(l, 14); got != "16s true" {
		t.Errorf("four seconds into the second: got %s", got)
	}
	if got := left(l, 100); got != "10s true" {
		t.Errorf("a cell that is late does not take from the others: got %s", got)
	}
	l.End(ended(b, result.NotRun, 0))
	l.End(ended(c, result.NotRun, 0))
	if got := left(l, 100); got != "0s true" {
		t.Errorf("at the end: got %s", got)
	}

	known := New(ended(a, result.Passed, 10*time.Second), ended(b, result.Passed, 10*time.Second), ended(c, result.Passed, 50*time.Second))
	l = NewLeft(known, []result.Cell{a, b, c}, 2)
	if got := left(l, 0); got != "50s true" {
		t.Errorf("two at a time, one long: got %s", got)
	}
	l.Free(b)
	l.Free(c)
	if got := left(l, 0); got != "10s true" {
		t.Errorf("two that get another cell's verdict: got %s", got)
	}
	l = NewLeft(known, []result.Cell{a, b, c}, 2)
	l.Begin(a, at(0))
	l.End(ended(a, result.Passed, 100*time.Second)) // a machine that slows to a tenth
	if got := left(l, 100); got != "8m20s true" {
		t.Errorf("on a slow machine: got %s", got)
	}
}
