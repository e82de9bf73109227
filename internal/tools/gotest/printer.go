package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// event is one line of `go test -json`; see `go doc test2json` and, for builds, `go help
// buildjson`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// testName is a test or a subtest.
type testName struct{ pkg, test string }

func (n testName) String() string { return n.pkg + " " + n.test }

// timed is a test that has ended.
type timed struct {
	testName
	seconds float64
}

// queued is what a test logs that has waited for other tests: that is not its time.
var queued = regexp.MustCompile(`^ *\w+\.go:\d+: queued: (\d+\.\d+)s\n$`)

// printer prints events as go test prints without -json.
type printer struct {
	w       io.Writer
	output  map[testName][]string // of tests that have not ended, and of packages under the name ""
	order   map[string][]testName // tests of a package with output, in the order of their first line
	ended   []timed
	parents map[testName]bool // tests with subtests: what takes time are those
	skipped []testName
	queued  map[testName]float64
}

// say prints; a reader that has gone away does not end the tests.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

func newPrinter(w io.Writer) *printer {
	return &printer{w: w, output: map[testName][]string{}, order: map[string][]testName{}, parents: map[testName]bool{}, queued: map[testName]float64{}}
}

// read prints events until they end.
func (p *printer) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				say(p.w, "%s", line) // go test itself has something to say
			} else {
				p.take(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *printer) take(e event) {
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		say(p.w, "%s", e.Output)
	case "output":
		if p.output[name] == nil {
			p.order[e.Package] = append(p.order[e.Package], name)
		}
		p.output[name] = append(p.output[name], e.Output)
		if m := queued.FindStringSubmatch(e.Output); m != nil {
			seconds, _ := strconv.ParseFloat(m[1], 64) // it matched
			p.queued[name] += seconds
		}
	case "run":
		if i := strings.LastIndex(e.Test, "/"); i > 0 {
			p.parents[testName{e.Package, e.Test[:i]}] = true
		}
	case "pass", "skip", "fail":
		if e.Test == "" {
			p.endPackage(e)
			return
		}
		p.ended = append(p.ended, timed{name, e.Elapsed - p.queued[name]})
		if e.Action == "skip" {
			p.skipped = append(p.skipped, name)
		}
		if e.Action != "fail" {
			delete(p.output, name)
		}
	}
}

// endPackage prints the output of the tests that did not pass, among them those that had not ended,
// and the package's own.
func (p *printer) endPackage(e event) {
	for _, name := range p.order[e.Package] {
		for _, line := range p.output[name] {
			text := strings.TrimLeft(line, " ")
			frame := name.test != "" && (strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- PASS") || strings.HasPrefix(text, "--- SKIP"))
			if !frame && line != "PASS\n" && (e.Action == "fail" || name.test == "") {
				say(p.w, "%s", line)
			}
		}
		delete(p.output, name)
	}
	delete(p.order, e.Package)
}

// printSlowest lists the n tests that took longest. The time of a parallel test begins when it is
// let run.
func (p *printer) printSlowest(n int) {
	all := slices.DeleteFunc(slices.Clone(p.ended), func(t timed) bool { return p.parents[t.testName] })
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	all = all[:min(n, len(all))]
	if len(all) == 0 {
		return
	}
	say(p.w, "The %d slowest tests:\n", len(all))
	for _, t := range all {
		say(p.w, "%9.1fs  %s\n", t.seconds, t.testName)
	}
}

func (p *printer) printSkipped() {
	say(p.w, "Skipped, and CI=true: every test must run there:\n")
	for _, name := range p.skipped {
		say(p.w, "  %s\n", name)
	}
}
