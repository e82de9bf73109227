package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/durations"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// screen is what a terminal shows after it was sent a text of lines, returns, and the two escapes
// that Progress uses.
func screen(t *testing.T, sent string) string {
	t.Helper()
	lines, at := []string{""}, 0
	for len(sent) > 0 {
		switch {
		case strings.HasPrefix(sent, "\x1b[2K"):
			lines[at] = ""
			sent = sent[len("\x1b[2K"):]
		case strings.HasPrefix(sent, "\x1b[1A"):
			if at--; at < 0 {
				t.Fatal("the cursor went above what was written")
			}
			sent = sent[len("\x1b[1A"):]
		case sent[0] == '\x1b':
			t.Fatalf("an escape that this test does not know: %q", sent[:min(8, len(sent))])
		case sent[0] == '\r':
			sent = sent[1:]
			if len(sent) > 0 && sent[0] != '\x1b' {
				t.Fatal("a line is written over, and not cleared first")
			}
		case sent[0] == '\n':
			if at++; at == len(lines) {
				lines = append(lines, "")
			}
			sent = sent[1:]
		default:
			end := strings.IndexAny(sent, "\x1b\r\n")
			if end < 0 {
				end = len(sent)
			}
			lines[at] += sent[:end]
			sent = sent[end:]
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func cellsOf(recipes ...string) []result.Cell {
	var all []result.Cell
	for _, r := range recipes {
		for _, d := range []string{"helm", "flux-oci"} {
			all = append(all, result.Cell{Recipe: r, Deployer: d})
		}
	}
	return all
}

func begin(c result.Cell) matrix.Event {
	return matrix.Event{Kind: matrix.StepBegin, Cell: c, Time: time.Now()}
}

func end(c result.Cell, s result.Status, took time.Duration) matrix.Event {
	return matrix.Event{Kind: matrix.CellEnd, Cell: c, Result: &result.Result{Cell: c, Verdict: result.Verdict{Status: s}, Duration: took}}
}

// On a terminal what has ended scrolls away, and the marks and the count stay below it.
func TestOverview_Terminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &testkit.Log{}
		p := NewProgress(out, func(string) string { return "" })
		p.tty = true
		cells := cellsOf("eks", "aks")
		o := ShowOverview(p, durations.New(), cells, 2)
		o.Tell(begin(cells[0]))
		first := p.Begin("eks/helm  Deploying")
		o.Tell(begin(cells[1]))
		second := p.Begin("eks/flux-oci  Deploying")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		want := " • eks/helm  Deploying  10s\n • eks/flux-oci  Deploying  10s\n •• ··\n 0 of 4 cells, 2 running, 10s so far"
		if got := screen(t, out.String()); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		first.End("", nil)
		o.Tell(end(cells[0], result.Passed, 10*time.Second))
		second.Update(strings.Repeat("long ", 40))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want = " ✓ eks/helm  Deploying  10.0s\n • eks/flux-oci  Deploying  " + strings.Repeat("long ", 14) + "…\n ✓• ··\n 1 of 4 cells, 1 passed, 1 running, 12s so far, about 10s left"
		if got := screen(t, out.String()); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		second.End("", errors.New("refused"))
		o.Tell(end(cells[1], result.Failed, 12*time.Second))
		p.Close()
		want = " ✓ eks/helm  Deploying  10.0s\n ✗ eks/flux-oci  Deploying  12.0s"
		if got := screen(t, out.String()); got != want {
			t.Errorf("at the end: got\n%s\nwant\n%s", got, want)
		}
	})
}

// While the last cell takes longer than expected, the line does not say that no time is left.
func TestOverview_Late(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &testkit.Log{}
		p := NewProgress(out, func(string) string { return "" })
		defer p.Close()
		cells := cellsOf("eks")
		o := ShowOverview(p, durations.New(), cells, 2)
		o.Tell(begin(cells[0]))
		o.Tell(begin(cells[1]))
		time.Sleep(47 * time.Second)
		o.Tell(end(cells[0], result.Passed, 47*time.Second))
		if got, want := out.String(), " = 1 of 2 cells, 1 passed, 1 running, 47s so far\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// What is still compiled counts: cells wait for it.
func TestOverview_Compiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProgress(&testkit.Log{}, func(string) string { return "" })
		defer p.Close()
		cells := cellsOf("eks")
		o := ShowOverview(p, durations.New(), cells, 2)
		var left time.Duration
		under, known := true, false
		o.Compiling(func(time.Time) (time.Duration, bool, bool) { return left, under, known })
		want := func(text string) {
			t.Helper()
			if got := o.line(time.Now()); got != text {
				t.Errorf("got %q, want %q", got, text)
			}
		}
		o.Tell(begin(cells[0]))
		want("0 of 2 cells, 1 running, 0s so far; programs are being compiled, once, for a time that is not known yet")
		left, known = 12*time.Minute, true
		want("0 of 2 cells, 1 running, 0s so far, about 12m left to compile programs, once")
		time.Sleep(10 * time.Second)
		o.Tell(end(cells[0], result.Passed, 10*time.Second))
		want("1 of 2 cells, 1 passed, 10s so far, about 13m left, of which 12m compile programs, once")
		under = false
		want("1 of 2 cells, 1 passed, 10s so far, about 10s left")
	})
}

// In a log there is a line after each cell, and nothing that only a terminal shows. One cell alone
// has none.
func TestOverview_Log(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &testkit.Log{}
		p := NewProgress(out, func(string) string { return "" })
		defer p.Close()
		cells := cellsOf("eks", "aks")
		known := durations.New()
		for _, c := range cells {
			known.Add(*end(c, result.Passed, 40*time.Minute).Result)
		}
		o := ShowOverview(p, known, cells, 1)
		for i, s := range []result.Status{result.Passed, result.Failed, result.NotRun, result.NotRun} {
			if s != result.NotRun {
				o.Tell(begin(cells[i]))
				time.Sleep(40 * time.Minute)
			}
			o.Tell(end(cells[i], s, 40*time.Minute))
		}
		want := " = 1 of 4 cells, 1 passed, 40m so far, about 2h00m left\n = 2 of 4 cells, 1 passed, 1 failed, 1h20m so far, about 1h20m left\n" +
			" = 3 of 4 cells, 1 passed, 1 failed, 1 not run, 1h20m so far, about 40m left\n = 4 of 4 cells, 1 passed, 1 failed, 2 not run, 1h20m so far\n"
		if got := out.String(); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		single := ShowOverview(p, known, cells[:1], 1)
		single.Tell(end(cells[0], result.Passed, time.Second))
		if got := out.String(); got != want {
			t.Errorf("one cell alone: got\n%s", got)
		}
	})
}

// The marks of a run of hundreds of cells take a few lines of a terminal's width; where they would
// take more, the count alone stays.
func TestOverview_ManyCells(t *testing.T) {
	for recipes, want := range map[int]int{60: 5, 400: 1} {
		var names []string
		for i := range recipes {
			names = append(names, fmt.Sprint(i))
		}
		p := NewProgress(&testkit.Log{}, func(string) string { return "" })
		lines := ShowOverview(p, durations.New(), cellsOf(names...), 2).lines(50)
		p.Close()
		if len(lines) != want {
			t.Errorf("%d recipes: got %d lines, want %d:\n%s", recipes, len(lines), want, strings.Join(lines, "\n"))
		}
		for _, line := range lines {
			if strings.HasPrefix(line, "·") && len([]rune(line)) > 47 {
				t.Errorf("a line of %d columns on a terminal of 50", len([]rune(line)))
			}
		}
	}
}
