package matrix

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var updateFaults = flag.Bool("update", false, "write docs/contributing/faults.md anew")

// target is what runs a test: make test or make test-nightly.
type target string

const (
	byTest    target = "make test"
	byNightly target = "make test-nightly"
)

// TestFaultTable: no number is given twice, every row is injected or names the test that covers it,
// and each of its cells and tests runs in exactly one of the two targets.
func TestFaultTable(t *testing.T) {
	exists := map[string]map[string][]target{}
	cells := map[string]bool{}
	last := 0
	for i, f := range faults() {
		var number int // one that was given away and not used is left out
		if _, err := fmt.Sscanf(f.id, "F%d", &number); err != nil || fmt.Sprintf("F%02d", number) != f.id || number <= last {
			t.Fatalf("row %d of the fault-injection suite: got %s after F%02d, want a number after that", i+1, f.id, last)
		}
		last = number
		if f.what == "" || f.verdict == "" {
			t.Errorf("%s does not say what it is and what must come of it", f.id)
		}
		if len(f.seeds)+len(f.tests) == 0 {
			t.Errorf("%s is neither injected nor covered by a test", f.id)
		}
		for _, s := range f.seeds {
			if len(s.lanes)+len(s.nightly) == 0 {
				t.Errorf("%s: a seed %q without a lane", f.id, s.name)
			}
			for _, lane := range append(s.lanes[:len(s.lanes):len(s.lanes)], s.nightly...) {
				cell := f.id + " " + s.name + " " + lane
				if cells[cell] {
					t.Errorf("%s runs twice", cell)
				}
				cells[cell] = true
			}
			if s.want.reason != "" && len(s.want.cause) == 0 {
				t.Errorf("%s: seed %q does not say which cause must be named", f.id, s.name)
			}
		}
		for _, covered := range f.tests {
			dir, name, _ := strings.Cut(covered, " ")
			if exists[dir] == nil {
				exists[dir] = testsIn(t, filepath.Join("..", "..", filepath.FromSlash(dir)))
			}
			if runs := exists[dir][name]; len(runs) != 1 {
				t.Errorf("%s: want %s of %s to run in one target, got %q", f.id, name, dir, runs)
			}
		}
	}
}

// TestTargets: `make test` builds no file of the night, and `make test-nightly` runs every test of
// these files, which it knows by their names.
func TestTargets(t *testing.T) {
	for _, dir := range []string{"internal/matrix", "cmd/matrix", "test/action"} {
		found := 0
		for name, runs := range testsIn(t, filepath.Join("..", "..", filepath.FromSlash(dir))) {
			if strings.HasPrefix(name, "TestNightly") != slices.Contains(runs, byNightly) {
				t.Errorf("%s %s runs in %q: name a test TestNightly… if it is in a file with the tag nightly, and only then", dir, name, runs)
			}
			found += len(runs)
		}
		t.Logf("%s: %d tests", dir, found)
	}
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	recipe := func(target string) string {
		_, rest, _ := strings.Cut(string(makefile), "\n"+target+":")
		text, _, _ := strings.Cut(rest, "\n\n")
		return text
	}
	if text := recipe("test"); strings.Contains(text, "-tags") || !strings.Contains(text, "./...") {
		t.Errorf("make test: got%s\nwant no tag and every package", text)
	}
	if text := recipe("test-nightly"); !strings.Contains(text, "-tags nightly -run '^TestNightly'") || !strings.Contains(text, "./internal/matrix ./cmd/matrix ./test/action") {
		t.Errorf("make test-nightly: got%s", text)
	}
}

// tagOf is the build tag of a file: nightly, kind or soak; "" if it has none of them.
func tagOf(file *ast.File) string {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if tag, ok := strings.CutPrefix(c.Text, "//go:build "); ok && c.Pos() < file.Package && slices.Contains([]string{"nightly", "kind", "soak"}, tag) {
				return tag
			}
		}
	}
	return ""
}

// testsIn lists the test functions of a directory, with the targets that run each.
func testsIn(t *testing.T, dir string) map[string][]target {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s (%v)", dir, err)
	}
	found := map[string][]target{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		runs := byTest
		switch tagOf(parsed) {
		case "":
		case "nightly":
			runs = byNightly
		default:
			continue // no row names a test of another tag
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[f.Name.Name] = append(found[f.Name.Name], runs)
			}
		}
	}
	return found
}

// docs/contributing/faults.md is the table, for people. cmd/matrix has a test that its names have exit codes.
func TestFaultsDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Faults

Faults that could make a harness like this one give a wrong verdict, or have. A test injects each of them, and the run must end with the verdict of its
row. Each cell and each test runs either in ` + "`make test`" + ` or, where the row says so, in ` + "`make test-nightly`" + `.
The table is made from ` + "`internal/matrix/faults_test.go`" + ` (` + "`go test ./internal/matrix -run TestFaultsDocument -update`" + `).

| | fault | required outcome | ends as | where |
|---|---|---|---|---|
`)
	for _, f := range faults() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.id, f.what, f.verdict, strings.Join(f.endings(), ", "), strings.Join(f.places(), "; "))
	}
	b.WriteString(verdictTable())
	file := filepath.Join("..", "..", "docs", "contributing", "faults.md")
	if *updateFaults {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Errorf("docs/contributing/faults.md is not the table any more: go test ./internal/matrix -run TestFaultsDocument -update")
	}
}

// verdictTable is the second table of the page.
func verdictTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, `
## One verdict in every lane

A fault of the recipe has the same reason and exit code whichever deployer delivers it. %sTestOneVerdictPerFault%s, and its nightly half, put each into the lanes %s; argocd-helm-oci
and argocd-appset deliver the same Applications as argocd-oci. "At once" is as soon as the state has lasted for the seconds that [the gate](../how-it-works.md) wants to
see it; "at the deadline" is where waiting could still have helped.

| fault | verdict | when | lanes that differ |
|---|---|---|---|
`, "`", "`", strings.Join(families, ", "))
	for _, f := range sharedFaults() {
		when := "at once"
		if f.waits() {
			when = "at the deadline"
		}
		var differ []string
		for _, lane := range families {
			if other, ok := f.except[lane]; ok {
				verdict := "passes, with a warning"
				if other.reason != "" {
					verdict = "`" + string(other.reason) + "`"
				}
				differ = append(differ, lane+": "+verdict)
			}
		}
		if f.why != "" {
			differ = append(differ, f.why)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", f.name, f.reason, when, strings.Join(differ, "; "))
	}
	return b.String()
}

// endings are the verdicts of the seeds.
func (f fault) endings() []string {
	var all []string
	for _, s := range f.seeds {
		name := "passed"
		if r := s.want.reason; r != "" {
			name = "`" + string(r) + "`"
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// places are the lanes that it is injected in, and the tests.
func (f fault) places() []string {
	var all []string
	for _, runs := range []struct {
		test, when string
		lanes      func(seed) []string
	}{
		{"TestFaultInjection", "", func(s seed) []string { return s.lanes }},
		{"TestNightlyFaultInjection", ", nightly", func(s seed) []string { return s.nightly }},
	} {
		var lanes []string
		for _, s := range f.seeds {
			for _, l := range runs.lanes(s) {
				if !slices.Contains(lanes, l) {
					lanes = append(lanes, l)
				}
			}
		}
		if len(lanes) > 0 {
			all = append(all, "`"+runs.test+"/"+f.id+"` in "+strings.Join(lanes, ", ")+runs.when)
		}
	}
	for _, covered := range f.tests {
		_, name, _ := strings.Cut(covered, " ")
		all = append(all, "`"+name+"`")
	}
	return all
}

// The expected verdict of a fault must not be one that the table of statuses calls a pass.
func TestFaultTable_PassHasNoReason(t *testing.T) {
	for _, f := range faults() {
		for _, s := range f.seeds {
			if s.want.reason != "" && result.StatusOf(s.want.reason) == result.Passed || s.want.reason == reason.Internal {
				t.Errorf("%s wants %s", f.id, s.want.reason)
			}
		}
	}
}
