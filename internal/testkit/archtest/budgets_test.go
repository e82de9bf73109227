package archtest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

const (
	budgetsFile = "budgets.yaml"
	// column is where a line ends for the budget: a longer one counts as several.
	column = 120
	// margin is by how much a room may be under its budget, in per cent; the budget falls with the
	// code.
	margin = 2
)

var update = flag.Bool("update", false, "lower the figures of "+budgetsFile+" to what there is, and add rooms that it lacks; nothing rises")

// wrapped is how many lines a text has if each ends after 120 columns. A tab counts as four.
func wrapped(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		width := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
		n += max(1, (width+column-1)/column)
	}
	return n
}

// budgets is budgets.yaml.
type budgets struct {
	// Rooms has each room's budget.
	Rooms map[string]room `json:"rooms"`
	// OneImporter is how many names are exported for one other package, and Prose how many lists of
	// sentences one room hands to another. They may only fall.
	OneImporter int `json:"oneImporter"`
	Prose       int `json:"prose"`
}

// room is what a room may have, its tests and commands included.
type room struct {
	Lines    int `json:"lines"`
	Packages int `json:"packages"`
	// Least are the lowest budgets that the room has had since. A higher one needs a reason in Why,
	// which begins with the figure: "12400 lines: …", "9 packages: …".
	Least size     `json:"least"`
	Why   []string `json:"why,omitempty"`
}

type size struct {
	Lines    int `json:"lines"`
	Packages int `json:"packages"`
}

// sizes is what there is.
func sizes(files []goFile) map[string]size {
	is := map[string]size{}
	seen := map[string]bool{}
	for _, f := range files {
		name := roomOf(f.dir)
		s := is[name]
		s.Lines += f.lines
		if !seen[f.dir] {
			seen[f.dir] = true
			s.Packages++
		}
		is[name] = s
	}
	return is
}

// reasoned says whether a budget has the reason that it is above the least.
func reasoned(why []string, figure int, of string) bool {
	return slices.ContainsFunc(why, func(w string) bool {
		reason, ok := strings.CutPrefix(w, fmt.Sprintf("%d %s: ", figure, of))
		return ok && len(strings.Fields(reason)) >= 5
	})
}

// under is the least that there may be with a budget.
func under(budget int) int { return budget - max(budget*margin/100, 20) }

// over returns what is wrong with the budgets, a line each.
func over(b budgets, is map[string]size) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		may, ok := b.Rooms[name]
		if !ok {
			lines = append(lines, fmt.Sprintf("the room %s has no budget", name))
			continue
		}
		for _, c := range []struct {
			of               string
			is, may, least   int
			lowest, noReason int
		}{
			{"lines", is[name].Lines, may.Lines, may.Least.Lines, under(may.Lines), 0},
			{"packages", is[name].Packages, may.Packages, may.Least.Packages, may.Packages, 0},
		} {
			switch {
			case c.is > c.may:
				lines = append(lines, fmt.Sprintf("the room %s has %d %s, and may have %d: delete some, or say in its why what they are for (\"%d %s: …\")", name, c.is, c.of, c.may, c.is, c.of))
			case c.is < c.lowest:
				lines = append(lines, fmt.Sprintf("the room %s has %d %s, and its budget is still %d: lower it (go test ./internal/testkit/archtest -run TestBudgets -update)", name, c.is, c.of, c.may))
			case c.may > c.least && !reasoned(may.Why, c.may, c.of):
				lines = append(lines, fmt.Sprintf("the room %s may have %d %s, and had %d: its why has no \"%d %s: \" and a reason", name, c.may, c.of, c.least, c.may, c.of))
			case c.may < c.least:
				lines = append(lines, fmt.Sprintf("the room %s may have %d %s, and its least is still %d: lower it", name, c.may, c.of, c.least))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Rooms)) {
		if _, ok := is[name]; !ok {
			lines = append(lines, fmt.Sprintf("the room %s has a budget and no code: drop its row", name))
		}
	}
	return lines
}

// lowered is the budgets at what there is, where that is less.
func lowered(b budgets, is map[string]size) budgets {
	rooms := map[string]room{}
	for name, s := range is {
		r, ok := b.Rooms[name]
		if !ok {
			r = room{Lines: s.Lines, Packages: s.Packages, Least: s}
		}
		r.Lines, r.Packages = min(r.Lines, s.Lines), min(r.Packages, s.Packages)
		r.Least = size{min(r.Least.Lines, r.Lines), min(r.Least.Packages, r.Packages)}
		r.Why = slices.DeleteFunc(slices.Clone(r.Why), func(w string) bool {
			return !(r.Lines > r.Least.Lines && strings.HasPrefix(w, fmt.Sprintf("%d lines: ", r.Lines))) &&
				!(r.Packages > r.Least.Packages && strings.HasPrefix(w, fmt.Sprintf("%d packages: ", r.Packages)))
		})
		rooms[name] = r
	}
	b.Rooms = rooms
	return b
}

const budgetsHead = `# What each room may have: lines of Go at 120 columns and packages, tests and commands included. A commit may
# raise a figure only with a reason in the room's why, which begins with it: "12400 lines: …". When code goes, the figure goes
# with it: go test ./internal/testkit/archtest -run TestBudgets -update. The counts at the end may only fall: names that are
# exported for one other package, and lists of sentences ([]string) that one room hands to another.
`

// A room costs what its row says, and a row that grows says why.
func TestBudgets(t *testing.T) {
	files, all := allFiles(t), packages(t)
	is := sizes(files)
	_, one := exports(all, files)
	lists := prose(all, files)
	text, err := os.ReadFile(budgetsFile)
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	b := budgets{OneImporter: len(one), Prose: len(lists)}
	if err == nil {
		if err := yaml.UnmarshalStrict(text, &b); err != nil {
			t.Fatalf("%s: %v", budgetsFile, err)
		}
	}
	if *update {
		b = lowered(b, is)
		b.OneImporter, b.Prose = min(b.OneImporter, len(one)), min(b.Prose, len(lists))
		out, err := yaml.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if out = append([]byte(budgetsHead), out...); !bytes.Equal(out, text) {
			if err := os.WriteFile(budgetsFile, out, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, line := range over(b, is) {
		t.Error(line)
	}
	for _, c := range []struct {
		what    string
		is, may int
	}{{"names are exported for one other package (oneImporter)", len(one), b.OneImporter}, {"lists of sentences go from one room to another (prose)", len(lists), b.Prose}} {
		if c.is > c.may {
			t.Errorf("%d %s, at most %d: this figure does not rise", c.is, c.what, c.may)
		}
		if c.is < under(c.may) {
			t.Errorf("%d %s, and the budget is still %d: lower it (-update)", c.is, c.what, c.may)
		}
	}
	if testing.Verbose() {
		t.Logf("exported for one other package: %s", strings.Join(one, " "))
		t.Logf("lists of sentences:\n%s", strings.Join(lists, "\n"))
	}
}

func TestOver(t *testing.T) {
	is := map[string]size{"bundle": {1000, 5}}
	row := func(lines, packages, leastLines, leastPackages int, why ...string) budgets {
		return budgets{Rooms: map[string]room{"bundle": {lines, packages, size{leastLines, leastPackages}, why}}}
	}
	for _, c := range []struct {
		name string
		b    budgets
		want string
	}{
		{"as it is", row(1000, 5, 1000, 5), ""},
		{"a little under it", row(1015, 5, 1015, 5), ""},
		{"over it", row(999, 5, 999, 5), "has 1000 lines, and may have 999"},
		{"a package more", row(1000, 4, 1000, 4), "has 5 packages, and may have 4"},
		{"code went", row(1100, 5, 1100, 5), "its budget is still 1100"},
		{"a package went", row(1000, 6, 1000, 6), "its budget is still 6"},
		{"raised with a reason", row(1000, 5, 900, 5, "1000 lines: Flux has a new kind of source"), ""},
		{"raised without", row(1000, 5, 900, 5), "its why has no \"1000 lines: \""},
		{"raised with the reason of another figure", row(1000, 5, 900, 5, "950 lines: Flux has a new kind of source"), "its why has no \"1000 lines: \""},
		{"raised with a word", row(1000, 5, 900, 5, "1000 lines: needed"), "its why has no \"1000 lines: \""},
		{"a package more without a reason", row(1000, 5, 1000, 4), "its why has no \"5 packages: \""},
		{"a least that nobody has lowered", row(1000, 5, 1200, 5), "its least is still 1200"},
		{"no row", budgets{}, "has no budget"},
		{"a row of no room", budgets{Rooms: map[string]room{"bundle": {1000, 5, size{1000, 5}, nil}, "gone": {}}}, "the room gone has a budget and no code"},
	} {
		got := strings.Join(over(c.b, is), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := lowered(row(1100, 5, 1050, 5, "1100 lines: x"), is).Rooms["bundle"]; got.Lines != 1000 || got.Least.Lines != 1000 || len(got.Why) != 0 {
		t.Errorf("lowered to %+v", got)
	}
	if got := lowered(row(900, 4, 900, 4), is).Rooms["bundle"]; got.Lines != 900 || got.Packages != 4 {
		t.Errorf("an update raised the budget to %+v", got)
	}
}

// Three lines of code in one are three.
func TestWrapped(t *testing.T) {
	for text, want := range map[string]int{
		"a\nb\n": 2, "a\nb": 2, "": 0, strings.Repeat("x", 120) + "\n": 1, strings.Repeat("x", 121) + "\n": 2, strings.Repeat("x", 250) + "\n": 3, "\t" + strings.Repeat("x", 117): 2, "\n\n": 2,
	} {
		if got := wrapped(text); got != want {
			t.Errorf("%.20q: got %d lines, want %d", text, got, want)
		}
	}
}
